import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { type Family, TEXT_TYPE, toJson, toText } from "../../../src/observe/exposition.ts";
import { Counter, Histogram } from "../../../src/observe/instruments.ts";
import { readPrometheusText } from "./prometheus-text.ts";

describe("the text", () => {
  test("of a counter, a gauge and a histogram", () => {
    const counter = new Counter({ name: "a_total", help: "Counts.", labels: ["queue"] });
    counter.add(2, "mail");
    counter.add(1, "mail");
    const histogram = new Histogram({ name: "b_seconds", help: "Takes time." }, [0.5, 1]);
    for (const size of [0.25, 0.5, 0.75, 7]) histogram.observe(size);
    const gauge: Family = { name: "c", help: "Is.", type: "gauge", samples: [{ labels: {}, value: 0.5 }] };
    expect(toText([counter.family(), histogram.family(), gauge])).toBe(
      [
        "# HELP a_total Counts.",
        "# TYPE a_total counter",
        'a_total{queue="mail"} 3',
        "# HELP b_seconds Takes time.",
        "# TYPE b_seconds histogram",
        'b_seconds_bucket{le="0.5"} 2',
        'b_seconds_bucket{le="1"} 3',
        'b_seconds_bucket{le="+Inf"} 4',
        "b_seconds_sum 8.5",
        "b_seconds_count 4",
        "# HELP c Is.",
        "# TYPE c gauge",
        "c 0.5",
        "",
      ].join("\n"),
    );
  });

  test("of numbers that are none of the usual", () => {
    const samples = [Infinity, -Infinity, NaN, 1e21, -0].map((value, index) => ({ labels: { n: String(index) }, value }));
    expect(toText([{ name: "c", help: "Is.", type: "gauge", samples }])).toMatch(/ \+Inf\n.* -Inf\n.* NaN\n.* 1e\+21\n.* 0\n$/);
  });

  property.prop([fc.string({ unit: "binary" }), fc.string({ unit: "binary" })])(
    "holds any label, and is read back as it was",
    (one, two) => {
      const family: Family = {
        name: "c",
        help: "Any text.",
        type: "gauge",
        samples: [{ labels: { a: one, b: two }, value: 1 }],
      };
      expect(readPrometheusText(toText([family])).get("c")!.samples[0]!.labels).toEqual({ a: one, b: two });
    },
  );

  test("is of the type and version that Prometheus asks for", () => {
    expect(TEXT_TYPE).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  test("of a help with a line break stays on its line", () => {
    const text = toText([{ name: "c", help: "One.\nTwo \\ three.", type: "gauge", samples: [] }]);
    expect(text).toBe("# HELP c One.\\nTwo \\\\ three.\n# TYPE c gauge\n");
  });
});

describe("a counter", () => {
  test("without labels is there before anything was counted", () => {
    expect(new Counter({ name: "a_total", help: "Counts." }).family().samples).toEqual([{ labels: {}, value: 0 }]);
  });

  test("with labels has those that are known, at zero", () => {
    const counter = new Counter({ name: "a_total", help: "Counts.", labels: ["kind"] }, [["one"], ["two"]]);
    counter.add(1, "two");
    expect(counter.family().samples).toEqual([
      { labels: { kind: "one" }, value: 0 },
      { labels: { kind: "two" }, value: 1 },
    ]);
  });

  test("keeps apart what only looks alike when it is joined", () => {
    const counter = new Counter({ name: "a_total", help: "Counts.", labels: ["one", "two"] });
    counter.add(1, "a", "bc");
    counter.add(1, "ab", "c");
    expect(counter.family().samples).toHaveLength(2);
  });
});

property.prop([fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: 1 })])(
  "a histogram counts each size in every bucket that holds it",
  (sizes) => {
    const bounds = [0.1, 1, 10];
    const histogram = new Histogram({ name: "b_seconds", help: "Takes time." }, bounds);
    for (const size of sizes) histogram.observe(size);
    const [sample] = histogram.family().samples;
    expect(sample!.buckets).toEqual(bounds.map((le) => ({ le, count: sizes.filter((size) => size <= le).length })));
    expect(sample!.count).toBe(sizes.length);
  },
);

test("as JSON it is the same", () => {
  const family = new Counter({ name: "a_total", help: "Counts." }).family();
  expect(JSON.parse(JSON.stringify(toJson([family])))).toEqual({
    metrics: [{ name: "a_total", help: "Counts.", type: "counter", samples: [{ labels: {}, value: 0 }] }],
  });
});
