import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Column, layOut } from "../../../src/cli/table.ts";
import { cutInMiddle, cutToWidth, padToWidth, textWidth, wrapToWidth } from "../../../src/cli/text-width.ts";

describe("the width of a text", () => {
  test.each([
    ["ascii", 5],
    ["Grüße", 5],
    ["世界", 4],
    ["한국어", 6],
    ["👋", 2],
    ["👋🏽", 2],
    ["👩‍👩‍👧", 2],
    ["e\u0301", 1],
    ["❤️", 2],
    ["", 0],
  ])("%s takes %d columns", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  test("a cut text is never wider than its room, and says that it was cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, width) => {
        const cut = cutToWidth(text, width, "…");
        expect(textWidth(cut)).toBeLessThanOrEqual(width);
        if (textWidth(text) > width) expect(cut.endsWith("…")).toBe(true);
        else expect(cut).toBe(text);
      }),
    );
  });

  test("a text that is cut in its middle keeps both ends, and wrapped lines keep every word", () => {
    expect(cutInMiddle("worker-1234567890-host", 11, "…")).toBe("worke…-host");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 20 }), (text, width) => {
        expect(textWidth(cutInMiddle(text, width, "…"))).toBeLessThanOrEqual(width);
        const lines = wrapToWidth(text, width);
        expect(lines.every((line) => textWidth(line) <= width)).toBe(true);
        expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      }),
    );
  });

  test("no character is cut in half", () => {
    expect(cutToWidth("世界世界", 4, "…")).toBe("世…");
    expect(padToWidth("世", 4)).toBe("世  ");
    expect(padToWidth("1", 3, "right")).toBe("  1");
  });
});

interface Row {
  readonly name: string;
  readonly count: number;
  readonly note: string;
}

const columns: readonly Column<Row>[] = [
  { title: "NAME", text: ({ name }) => name, shrinks: "middle" },
  { title: "COUNT", text: ({ count }) => String(count), align: "right", style: () => "red" },
  { title: "NOTE", text: ({ note }) => note, shrinks: "end" },
];
const rows: readonly Row[] = [
  { name: "alpha", count: 1, note: "short" },
  { name: "a rather long name", count: 1234, note: "-" },
];
const plain = { mark: "…", paint: (text: string) => text };

describe("a table", () => {
  test("is as wide as it needs to be", () => {
    expect(layOut(columns, rows, { ...plain, width: Infinity })).toEqual([
      "NAME                COUNT  NOTE",
      "alpha                   1  short",
      "a rather long name   1234  -",
    ]);
  });

  test("takes from the widest column when the terminal is narrow, and cuts a name in its middle", () => {
    expect(layOut(columns, rows, { ...plain, width: 24 })).toEqual([
      "NAME        COUNT  NOTE",
      "alpha           1  short",
      "a rat…name   1234  -",
    ]);
  });

  test("leaves out what matters least first", () => {
    const ranked = [columns[0]!, { ...columns[1]!, leaveOut: 1 }, { ...columns[2]!, atLeast: 5 }];
    expect(layOut(ranked, rows, { ...plain, width: 16 })).toEqual(["NAME       NOTE", "alpha      short", "a ra…name  -"]);
  });

  test("continues the last column on the next lines", () => {
    const checks: readonly Column<Row>[] = [columns[1]!, { ...columns[2]!, wraps: true }];
    const said = [{ name: "", count: 1, note: "the clock of the store agrees" }];
    expect(layOut(checks, said, { ...plain, width: 19 })).toEqual([
      "COUNT  NOTE",
      "    1  the clock of",
      "       the store",
      "       agrees",
    ]);
  });

  test("leaves out columns from the right when that is not enough", () => {
    expect(layOut(columns, rows, { ...plain, width: 14 })).toEqual(["NAME     COUNT", "alpha        1", "a r…ame   1234"]);
  });

  test("shows nothing that a terminal would obey", () => {
    const [, line] = layOut(columns, [{ name: "\u001b[2J", count: 1, note: "\u202e" }], { ...plain, width: Infinity });
    expect(line).toBe("\\u001b[2J      1  \\u202e");
  });

  test("colours count for no width", () => {
    const painted = layOut(columns, rows, { width: 24, mark: "…", paint: (text, style) => (style === "red" ? `<${text}>` : text) });
    expect(painted[1]).toBe("alpha       <    1>  short");
  });

  test("no line is wider than the terminal", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.string(), count: fc.integer(), note: fc.string({ unit: "grapheme" }) })),
        fc.integer({ min: 10, max: 60 }),
        (some, width) => {
          for (const line of layOut(columns, some, { ...plain, width })) expect(textWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});

test("a table has as many rows as there are", () => {
  const rows = Array.from({ length: 200_000 }, (_, number) => number);
  const lines = layOut([{ title: "NUMBER", text: String }], rows, { width: 80, mark: "…", paint: (text) => text });
  expect(lines).toHaveLength(1 + rows.length);
});
