import { expect, test } from "vitest";
import { isMissingPackage } from "../../../src/lib/missing-package.ts";

test("a package that is not installed is known by the error of Node", async () => {
  const name = "not-a-package-of-this-project";
  const error = await import(/* @vite-ignore */ name).catch((reason: unknown) => reason);
  expect(isMissingPackage(error, name)).toBe(true);
});

test("in a bundle it is known by the error of the bundler", () => {
  const ofWebpack = Object.assign(new Error("Cannot find module 'pg'"), { code: "MODULE_NOT_FOUND" });
  const ofVite = new Error('Could not resolve "pg" imported by "millrace".');
  expect([ofWebpack, ofVite].map((error) => isMissingPackage(error, "pg"))).toEqual([true, true]);
});

test("a package that is there and fails is not missing", () => {
  const failures = [new SyntaxError("Unexpected token"), Object.assign(new Error("no"), { code: "EACCES" }), "pg", null];
  expect(failures.filter((error) => isMissingPackage(error, "pg"))).toEqual([]);
});
