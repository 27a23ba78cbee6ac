// Small habits: names that say something, tests that all run, and no trace of the machine that a file was written on.

import path from "node:path";
import type { Files } from "./files.ts";
import { child, lineOf, memberName, parse, walk, type Node } from "./syntax.ts";

const sayNothing = new Set(["util", "utils", "helper", "helpers", "misc", "common"]);
const testWords = new Set(["test", "it", "describe", "suite", "bench"]);

/** A file or folder called `utils` has no subject, so everything ends up in it. */
export function emptyNames(files: Files): string[] {
  return [...files.keys()]
    .filter((file) => /^(src|test|bench|examples)\//.test(file))
    .filter((file) => file.split("/").some((part) => sayNothing.has(part.split(".")[0] ?? "")))
    .map((file) => `${file}: a name that says nothing`);
}

/** Tests that run alone, and tests that do not run without saying why on the same line or the one before. */
export function silencedTests(files: Files): string[] {
  return [...files]
    .filter(([file]) => /^test\/.*\.tsx?$/.test(file))
    .flatMap(([file, text]) => {
      const parsed = parse(file, text);
      const explained = new Set(parsed.comments.flatMap((comment) => [lineOf(text, comment.end), lineOf(text, comment.end) + 1]));
      const found: string[] = [];
      walk(parsed, (node) => {
        const word = memberName(node) ?? "";
        if (!testWords.has(rootName(node))) return;
        const line = lineOf(text, child(node, "property")?.start ?? node.start);
        if (word === "only") found.push(`${file}:${line}: .only keeps the other tests from running`);
        if (["skip", "skipIf", "todo"].includes(word) && !explained.has(line))
          found.push(`${file}:${line}: .${word} without its reason beside it`);
      });
      return found;
    });
}

/** The `test` of `test.concurrent.skip` and of `test.each(rows).skip`. */
function rootName(node: Node): string {
  const inner = child(node, "object") ?? child(node, "callee");
  if (inner) return rootName(inner);
  return node.type === "Identifier" ? (node["name"] as string) : "";
}

// A folder of somebody's own, and the folders that clones are put into by services. Not after a letter or a dot: `/v1/home/ann` is a route.
const machinePath = /(?<![\w.\-/:}])\/(?:home\/[\w.-]+|Users\/[\w.-]+|root(?=\/)|workspaces?\/[\w.-]+|work\/(?:main|shared)\b)/g;
const registryHost = /https?:\/\/[^/\s"')]*registry[^/\s"')]*|\bregistry\.[a-z0-9-]+\.(?:org|com|net|io|dev|cloud|internal|local)\b/gi;

/** Paths of a developer's machine and hosts of a package registry: true for one person, wrong for all others. */
export function machineTraces(files: Files, root: string): string[] {
  return [...files].flatMap(([file, text]) => {
    if (text.includes("\0")) return [];
    const hosts = [...text.matchAll(registryHost)].map((match) => `${file}:${lineOf(text, match.index)}: a registry host`);
    const paths = [...text.matchAll(machinePath)].map((match) => `${file}:${lineOf(text, match.index)}: the path ${match[0]}`);
    // Of a checkout directly under the root of the disk, such as /app, the name is too ordinary to look for.
    const own = path.dirname(root) !== path.parse(root).root && text.includes(root) ? [`${file}: the path of this checkout`] : [];
    return [...hosts, ...paths, ...own, ...lockTraces(file, text), ...npmrcTraces(file, text)];
  });
}

function lockTraces(file: string, text: string): string[] {
  if (file !== "package-lock.json") return [];
  return /"resolved":\s*"https?:/.test(text)
    ? [`${file}: "resolved" addresses; .npmrc has omit-lockfile-registry-resolved against them`]
    : [];
}

function npmrcTraces(file: string, text: string): string[] {
  return path.posix.basename(file) === ".npmrc" && /^\s*(@[\w-]+:)?registry\s*=/m.test(text) ? [`${file}: a registry`] : [];
}
