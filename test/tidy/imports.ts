// Which modules a source file refers to, in any of the ways that a file can.

import path from "node:path";
import type { Files } from "./files.ts";
import { child, isIdentifier, memberName, parse, walk, type Node } from "./syntax.ts";

/** Imports, re-exports, `import("x")` as a value or a type, `new URL("./x.ts", import.meta.url)`, `import.meta.resolve("x")`. */
export function importedSpecifiers(file: string, text: string): string[] {
  const found: string[] = [];
  walk(parse(file, text), (node) => {
    const named = referringPart(node);
    if (named) found.push(...textsIn(named));
  });
  return [...new Set(found)];
}

/** The file that a relative specifier means, or undefined if there is none. Threads are named `.js` where they run from dist. */
export function resolveRelative(files: Files, from: string, specifier: string): string | undefined {
  const target = path.posix.join(path.posix.dirname(from), specifier);
  return [target, target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx")].find((candidate) => files.has(candidate));
}

export function isRelative(specifier: string): boolean {
  return /^\.\.?\//.test(specifier);
}

function referringPart(node: Node): Node | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return child(node, "source");
    case "NewExpression":
      return isIdentifier(node["callee"], "URL") && argument(node, 1)?.type === "MemberExpression" ? argument(node, 0) : undefined;
    case "CallExpression":
      return isImportMetaResolve(node) ? argument(node, 0) : undefined;
    default:
      return undefined;
  }
}

function isImportMetaResolve(call: Node): boolean {
  const callee = child(call, "callee");
  return callee !== undefined && memberName(callee) === "resolve" && child(callee, "object")?.type === "MetaProperty";
}

function argument(call: Node, index: number): Node | undefined {
  return (call["arguments"] as Node[])[index];
}

/** The text, or the two of `condition ? "./thread.ts" : "./thread.js"`, or that of `./thread${extension}`. */
function textsIn(node: Node): string[] {
  switch (node.type) {
    case "Literal":
      return typeof node["value"] === "string" ? [node["value"]] : [];
    case "ConditionalExpression":
      return ["consequent", "alternate"].flatMap((branch) => textsIn(node[branch] as Node));
    case "TemplateLiteral": {
      const [start] = node["quasis"] as { value: { cooked: string } }[];
      const isWhole = (node["expressions"] as Node[]).length === 0;
      return start && isRelative(start.value.cooked) ? [isWhole ? start.value.cooked : `${start.value.cooked.replace(/\.$/, "")}.ts`] : [];
    }
    default:
      return [];
  }
}
