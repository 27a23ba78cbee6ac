import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "../../tidy/syntax.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");

/** It has to run in browsers, too, so it is looked into as our own files are. */
const PARSER = "eventsource-parser";

/** What a file loads when it runs: imports of types alone are gone by then. */
function loadedBy(file: string): string[] {
  const { module } = parse(file, readFileSync(path.join(ROOT, file), "utf8"));
  const imported = module.staticImports.filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType));
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.filter(({ isType, moduleRequest }) => !isType && moduleRequest !== null),
  );
  return [...imported.map(({ moduleRequest }) => moduleRequest.value), ...exported.map(({ moduleRequest }) => moduleRequest!.value)];
}

function everythingLoadedBy(file: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [file];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (files.has(next)) continue;
    files.add(next);
    for (const specifier of loadedBy(next)) {
      if (specifier.startsWith(".")) waiting.push(path.posix.join(path.posix.dirname(next), specifier));
      else if (specifier === PARSER)
        waiting.push(
          path.relative(
            ROOT,
            createRequire(import.meta.url)
              .resolve(specifier)
              .replace(/\.cjs$/, ".js"),
          ),
        );
      else packages.add(`${specifier} by ${next}`);
    }
  }
  return { files, packages };
}

test("the remote client and its only package need no other, no module of Node, and none of its globals", () => {
  const { files, packages } = everythingLoadedBy("src/http/remote-client.ts");
  expect([...packages]).toEqual([]);
  expect([...files].filter((file) => file.startsWith("node_modules/"))).toEqual([`node_modules/${PARSER}/dist/index.js`]);
  expect(files.size).toBeGreaterThan(15);
  const nodeOnly = [...files].filter((file) => /\b(Buffer|process|require)\b[.(]/.test(readFileSync(path.join(ROOT, file), "utf8")));
  expect(nodeOnly).toEqual([]);
});
