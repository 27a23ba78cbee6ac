// The core decides and touches nothing: time, randomness and ids come in as arguments.

import type { Files } from "./files.ts";
import { sourceFiles } from "./files.ts";
import { child, isIdentifier, lineOf, memberName, parse, walk, type Node } from "./syntax.ts";

const forbiddenGlobals = new Set(
  "process performance console fetch crypto Temporal setTimeout setInterval setImmediate queueMicrotask".split(" "),
);

/** Each place where a file of the core reaches for a clock, for chance or for the world, as "src/core/a.ts:3: what". */
export function impureCore(files: Files): string[] {
  return sourceFiles(files)
    .filter((file) => file.startsWith("src/core/"))
    .flatMap((file) => {
      const text = files.get(file) ?? "";
      const found: string[] = [];
      walk(parse(file, text), (node, parents) => {
        const impurity = impurityOf(node, parents.at(-1));
        if (impurity !== undefined) found.push(`${file}:${lineOf(text, node.start)}: ${impurity}`);
      });
      return found;
    });
}

function impurityOf(node: Node, parent: Node | undefined): string | undefined {
  switch (node.type) {
    case "MemberExpression": {
      const name = memberName(node);
      if (name === "now" && isIdentifier(node["object"], "Date")) return "Date.now";
      if (name === "random" && isIdentifier(node["object"], "Math")) return "Math.random";
      return undefined;
    }
    case "NewExpression":
      return isIdentifier(node["callee"], "Date") && (node["arguments"] as Node[]).length === 0 ? "new Date() is now" : undefined;
    case "CallExpression":
      return isIdentifier(node["callee"], "Date") ? "Date() is now" : undefined;
    case "ImportDeclaration":
      return impureImport(node);
    case "Identifier": {
      const name = node["name"] as string;
      return forbiddenGlobals.has(name) && !isOnlyAName(node, parent) ? name : undefined;
    }
    default:
      return undefined;
  }
}

/** The same input gives the same output. */
const PURE_CRYPTO: ReadonlySet<string> = new Set(["createHash", "createHmac", "timingSafeEqual"]);

function impureImport(node: Node): string | undefined {
  const source = child(node, "source")?.["value"] as string;
  if (!source.startsWith("node:")) return undefined;
  if (source !== "node:crypto") return source;
  const names = (node["specifiers"] as Node[]).map((specifier) => child(specifier, "imported")?.["name"] ?? "all of it");
  return names.every((name) => PURE_CRYPTO.has(name as string)) ? undefined : `${source} for more than digests`;
}

/** `job.process`, `{ process: 1 }` and a field `process` of a type say the word without meaning the global. */
function isOnlyAName(node: Node, parent: Node | undefined): boolean {
  if (!parent || parent["computed"] === true || parent["shorthand"] === true) return false;
  return parent["property"] === node || parent["key"] === node;
}
