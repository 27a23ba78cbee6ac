import { describe, expect, test } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import type { Handlers } from "../../../src/client/client.ts";
import { readHandlers } from "../../../src/worker/handlers.ts";

const nothing = (): void => {};

describe("handlers", () => {
  test("an object gives a handler for each type and claims these", () => {
    const table = readHandlers({ "email:send": nothing, report: nothing });
    expect(table.types).toEqual(["email:send", "report"]);
    expect(table.find("report")?.handler).toBe(nothing);
    expect(table.find("other")).toBeUndefined();
  });

  test("a list of definitions brings schema and backoff along", () => {
    const backoff = (): number => 5;
    const table = readHandlers([defineJob({ type: "a", backoff }).handle(nothing)]);
    expect(table.types).toEqual(["a"]);
    expect(table.find("a")).toEqual({ handler: nothing, schema: undefined, jsonSchema: null, backoff });
  });

  test('"*" claims any type and handles those that have no handler of their own', () => {
    const rest = (): void => {};
    const table = readHandlers({ a: nothing, "*": rest });
    expect(table.types).toBe("*");
    expect(table.find("a")?.handler).toBe(nothing);
    expect(table.find("never seen")?.handler).toBe(rest);
  });

  test("what every object inherits is no handler", () => {
    expect(readHandlers({ a: nothing }).find("toString")).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ["none at all", {}, "handlers"],
    ["an empty list", [], "handlers"],
    ["null", null, "handlers"],
    ["a function", nothing, "handlers"],
    ["a bad type", { "no spaces": nothing }, "handlers"],
    ["a handler that is no function", { a: "later" }, "handlers.a"],
    ["a list of something else", [nothing], "handlers[0]"],
    ["a definition without a handler", [{ definition: defineJob({ type: "a" }) }], "handlers.a"],
    ["a type twice", [defineJob({ type: "a" }).handle(nothing), defineJob({ type: "a" }).handle(nothing)], "handlers.a"],
  ])("%s is refused, and the place named", (_name, handlers, field) => {
    expect(() => readHandlers(handlers as Handlers)).toThrow(expect.objectContaining({ code: "invalid_input", field }));
  });
});
