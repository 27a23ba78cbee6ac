// The names of the options that a package takes, from the types that it is installed with.

import { readFileSync } from "node:fs";
import { child, type Node, parse, walk } from "../tidy/syntax.ts";

/** What is declared under a name. `Space.Type` stands in a namespace; `Class.method` is the parameter `options` of a method, in each overload. */
type Declarations = ReadonlyMap<string, readonly Node[]>;

/** Types of Node that others extend: none of their fields is an option. */
const NO_OPTIONS = ["EventEmitter"];

/** The options of these types, with those of the types that they extend, join or pick from. Options inside of an option are not among them. */
export function optionNames(files: readonly string[], types: readonly string[]): string[] {
  const declared = readDeclarations(files);
  return [...new Set(types.flatMap((type) => namesOf(type, declared)))];
}

function readDeclarations(files: readonly string[]): Declarations {
  const declared = new Map<string, Node[]>();
  const add = (name: string, node: Node): void => void declared.set(name, [...(declared.get(name) ?? []), node]);
  for (const file of files) {
    walk(parse(file, readFileSync(file, "utf8")), (node, parents) => {
      const around = parents.filter(({ type }) => type === "TSModuleDeclaration").map((space) => nameOf(space, "id"));
      const spaces = around.filter((space) => space !== "global");
      if (node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration")
        add([...spaces, nameOf(node, "id")].join("."), node);
      if (node.type === "MethodDefinition") {
        const owner = parents.findLast(({ type }) => type === "ClassDeclaration");
        for (const parameter of list(child(node, "value"), "params")) {
          if (parameter["name"] === "options") add(`${nameOf(owner, "id")}.${nameOf(node, "key")}`, child(parameter, "typeAnnotation")!);
        }
      }
    });
  }
  return declared;
}

/** A type that is not declared is an error: its options would be missing without a word. */
function namesOf(type: string, declared: Declarations): string[] {
  if (NO_OPTIONS.includes(type)) return [];
  const nodes = declared.get(type);
  if (nodes === undefined) throw new Error(`the package declares no type ${type}`);
  return nodes.flatMap((node) => namesIn(node, declared));
}

function namesIn(node: Node, declared: Declarations): string[] {
  const inAll = (nodes: readonly Node[]): string[] => nodes.flatMap((each) => namesIn(each, declared));
  switch (node.type) {
    case "TSInterfaceDeclaration":
      return inAll([child(node, "body")!, ...list(node, "extends")]);
    case "TSInterfaceBody": {
      // Where methods can be chained, the options are those, as in Bee-Queue. To listen can be chained too, and is no option.
      const chained = list(node, "body")
        .filter(isChained)
        .map((method) => nameOf(method, "key"));
      return chained.length > 0 ? chained.filter((name) => name !== "on") : inAll(list(node, "body"));
    }
    case "TSTypeLiteral":
      return inAll(list(node, "members"));
    case "TSIntersectionType":
    case "TSUnionType":
      return inAll(list(node, "types"));
    case "TSTypeAliasDeclaration":
    case "TSTypeAnnotation":
    case "TSParenthesizedType":
      return namesIn(child(node, "typeAnnotation")!, declared);
    case "TSPropertySignature":
      return [nameOf(node, "key")];
    case "TSInterfaceHeritage":
      return namesOfReference(nameOf(node, "expression"), list(child(node, "typeArguments"), "params"), declared);
    case "TSTypeReference":
      return namesOfReference(nameOf(node, "typeName"), list(child(node, "typeArguments"), "params"), declared);
    default:
      return [];
  }
}

function isChained(node: Node): boolean {
  return node.type === "TSMethodSignature" && child(child(node, "returnType")!, "typeAnnotation")?.type === "TSThisType";
}

function namesOfReference(name: string, [first, second]: readonly Node[], declared: Declarations): string[] {
  if (name === "Pick") return literals(second);
  if (name === "Omit") return namesIn(first!, declared).filter((each) => !literals(second).includes(each));
  if (name === "Partial" || name === "Required") return namesIn(first!, declared);
  return namesOf(name, declared);
}

/** `"a" | "b"`, or one of them. */
function literals(node: Node | undefined): string[] {
  if (node?.type === "TSUnionType") return list(node, "types").flatMap(literals);
  return [String(child(node!, "literal")?.["value"])];
}

function nameOf(node: Node | undefined, field: string): string {
  return String(child(node!, field)?.["name"]);
}

function list(node: Node | undefined, field: string): readonly Node[] {
  return (node?.[field] ?? []) as readonly Node[];
}
