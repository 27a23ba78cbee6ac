// A file's syntax tree, and a walk over it that knows each node's parents.

import { parseSync, visitorKeys, type ParseResult } from "oxc-parser";

/** A node of any type: the checks look at the few fields that they know by name. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export type Visit = (node: Node, parents: readonly Node[]) => void;

export function parse(path: string, text: string): ParseResult {
  return parseSync(path, text);
}

export function walk(parsed: ParseResult, visit: Visit): void {
  walkNode(parsed.program as unknown as Node, [], visit);
}

function walkNode(node: Node, parents: readonly Node[], visit: Visit): void {
  visit(node, parents);
  const path = [...parents, node];
  for (const key of visitorKeys[node.type] ?? []) {
    for (const child of [node[key]].flat()) if (isNode(child)) walkNode(child, path, visit);
  }
}

/** The node's field, if that is a node. */
export function child(node: Node, field: string): Node | undefined {
  const value = node[field];
  return isNode(value) ? value : undefined;
}

export function isIdentifier(node: unknown, name: string): boolean {
  return isNode(node) && node.type === "Identifier" && node["name"] === name;
}

/** The name after the dot in `object.name`; undefined for any other node. */
export function memberName(node: Node): string | undefined {
  if (node.type !== "MemberExpression" || node["computed"] === true) return undefined;
  return child(node, "property")?.["name"] as string | undefined;
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
