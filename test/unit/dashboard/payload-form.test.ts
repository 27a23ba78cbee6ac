import { describe, expect, test } from "vitest";
import { fieldsOf, formSchema, type FormField, readPayload, shownAt, withField } from "../../../src/dashboard/enqueue/payload-form.ts";

const SCHEMA = {
  type: "object",
  required: ["to", "size"],
  properties: {
    to: { type: "string", description: "The address." },
    size: { type: "integer" },
    kind: { enum: ["a", 2], default: "a" },
    loud: { type: "boolean", title: "Loudly" },
    inner: { $ref: "#/$defs/Inner" },
    rest: { type: "array", items: { type: "string" } },
  },
  $defs: { Inner: { type: "object", properties: { note: { type: "string" } } } },
};

const byName = new Map(fieldsOf(SCHEMA)!.map((field) => [field.path[0]!, field]));
const field = (name: string): FormField => byName.get(name)!;

/** The payload after something was typed into a field. */
function typed(text: string, into: FormField, shown: string): string {
  return JSON.stringify(JSON.parse(withField(readPayload(text)!, into, shown).text));
}

describe("a form of a schema", () => {
  test("has a field for each simple property, a group for an object, and JSON for the rest", () => {
    expect([...byName.values()].map(({ label, kind, hint }) => [label, kind, hint])).toEqual([
      ["to", "text", "The address."],
      ["size", "number", ""],
      ["kind", "choice", 'Default: "a".'],
      ["Loudly", "choice", "Optional."],
      ["inner", "group", "Optional."],
      ["rest", "json", "Optional."],
    ]);
    expect(field("inner").fields).toMatchObject([{ path: ["inner", "note"], kind: "text" }]);
    expect(fieldsOf({ type: "string" })).toBeNull();
    expect(fieldsOf({})).toBeNull();
  });

  test("shows the payload, and changes one field of it", () => {
    const [note] = field("inner").fields;
    expect(typed("{}", field("to"), "ann")).toBe('{"to":"ann"}');
    expect(typed('{"to":"x"}', field("to"), "")).toBe('{"to":""}');
    expect(typed('{"kind":"a","other":1}', field("kind"), "")).toBe('{"other":1}');
    expect(typed("{}", field("kind"), "2")).toBe('{"kind":2}');
    expect(typed("{}", field("loud"), "false")).toBe('{"loud":false}');
    expect(typed("{}", note!, "hi")).toBe('{"inner":{"note":"hi"}}');
    expect(typed('{"inner":{"note":"hi","x":1}}', note!, "")).toBe('{"inner":{"x":1}}');
    expect(typed("{}", note!, "")).toBe("{}");
    expect(typed("{}", { ...note!, path: ["constructor", "note"] }, "")).toBe("{}");
    expect(typed('{"rest":[],"to":"x"}', field("rest"), '["a"]')).toBe('{"rest":["a"],"to":"x"}');
    expect(typed("{}", field("size"), "7.")).toBe('{"size":"7."}');
    expect(shownAt(readPayload('{"inner":{"note":"hi"}}')!, note!)).toBe("hi");
    expect(shownAt(readPayload('{"inner":7}')!, note!)).toBe("");
    expect(shownAt(readPayload('{"kind":"a"}')!, field("kind"))).toBe('"a"');
  });

  test("keeps every number as it was written", () => {
    const payload = readPayload('{"id":9007199254740993,"size":1.0}')!;
    expect(shownAt(payload, field("size"))).toBe("1.0");
    expect(withField(payload, field("to"), "ann").text).toMatch(/"id": 9007199254740993,\s+"size": 1\.0,\s+"to": "ann"/);
    expect(withField(payload, field("size"), "12345678901234567890").text).toMatch(/"size": 12345678901234567890/);
  });

  test("has what is typed into a JSON field in its text as it was typed, JSON or not, until it is emptied", () => {
    const odd = '["a", "#1", "##0"';
    const begun = withField(readPayload('{"rest":[],"to":"#0"}')!, field("rest"), odd);
    expect(begun.text).toBe(`{\n  "rest": ${odd},\n  "to": "#0"\n}`);
    const onward = withField(begun, field("to"), "ann");
    expect(onward.text).toBe(`{\n  "rest": ${odd},\n  "to": "ann"\n}`);
    expect(shownAt(onward, field("rest"))).toBe(odd);
    expect(withField(onward, field("rest"), " ").text).toBe('{\n  "to": "ann"\n}');
  });

  test("is not for a text that is no object", () => {
    expect(["[]", "7", "{", "null"].map(readPayload)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("follows the schema of workers that serve the queue, if there are any", () => {
    const handled = [
      { type: "mail", queues: ["a"], workers: 2, schema: { title: "a" } },
      { type: "mail", queues: ["b"], workers: 1, schema: { title: "b" } },
      { type: "mail", queues: ["*"], workers: 1, schema: null },
    ];
    expect(["a", "b", "c"].map((queue) => formSchema(handled, "mail", queue)?.["title"])).toEqual(["a", "b", "a"]);
    expect(formSchema(handled, "other", "a")).toBeNull();
  });
});
