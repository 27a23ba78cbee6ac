// What the public doors export, where each name is declared, and whether a comment explains it there.

import type { Files } from "./files.ts";
import { resolveRelative } from "./imports.ts";
import { child, parse, type Node } from "./syntax.ts";

export const publicDoors: Readonly<Record<string, string>> = {
  millrace: "src/index.ts",
  "millrace/testing": "src/testing/index.ts",
  "millrace/server": "src/server.ts",
  "millrace/nestjs": "src/nestjs/index.ts",
};

interface Declared {
  file: string;
  name: string;
}

/** Public name -> the file that declares it and its name there. A name that comes from another package is left out. */
export function exportedNames(files: Files, file: string): Map<string, Declared> {
  const names = new Map<string, Declared>();
  const { module } = parse(file, files.get(file) ?? "");
  for (const entry of module.staticExports.flatMap((statement) => statement.entries)) {
    const from = entry.moduleRequest ? resolveRelative(files, file, entry.moduleRequest.value) : file;
    if (from === undefined) continue;
    const isStar = entry.moduleRequest !== null && entry.exportName.name === null;
    if (isStar) {
      for (const [name, declared] of exportedNames(files, from)) names.set(name, declared);
      continue;
    }
    const name = entry.exportName.name ?? "default";
    const inner = entry.importName.name ?? entry.localName.name ?? name;
    names.set(
      name,
      from === file ? throughImport(files, file, inner) : (exportedNames(files, from).get(inner) ?? { file: from, name: inner }),
    );
  }
  return names;
}

/** Each public name without a JSDoc comment at its declaration, as "millrace: enqueue (src/client/enqueue.ts)". */
export function unexplainedNames(files: Files): string[] {
  return Object.entries(publicDoors)
    .filter(([, door]) => files.has(door))
    .flatMap(([packageName, door]) =>
      [...exportedNames(files, door)]
        .filter(([, declared]) => !isExplained(files, declared))
        .map(([name, declared]) => `${packageName}: ${name} (${declared.file}) has no JSDoc comment`),
    );
}

/** `import { a } from "./b.ts"; export { a }` is a re-export in two steps. */
function throughImport(files: Files, file: string, name: string): Declared {
  for (const statement of parse(file, files.get(file) ?? "").module.staticImports) {
    const entry = statement.entries.find((candidate) => candidate.localName.value === name);
    const from = entry && resolveRelative(files, file, statement.moduleRequest.value);
    if (!entry || from === undefined) continue;
    const inner = entry.importName.name ?? name;
    return exportedNames(files, from).get(inner) ?? { file: from, name: inner };
  }
  return { file, name };
}

/** One comment is enough where a name is a value and a type at once, or a function with several signatures. */
function isExplained(files: Files, { file, name }: Declared): boolean {
  const text = files.get(file) ?? "";
  const parsed = parse(file, text);
  const statements = (parsed.program as unknown as { body: Node[] }).body;
  const starts = statements.flatMap((statement) => {
    const declaration = statement.type.startsWith("Export") ? child(statement, "declaration") : statement;
    return declaration && declaredNames(declaration).includes(name) ? [statement.start] : [];
  });
  return starts.some((start) =>
    parsed.comments.some(
      (comment) =>
        comment.type === "Block" &&
        comment.value.startsWith("*") &&
        comment.end <= start &&
        /^(\s|\/\/.*)*$/.test(text.slice(comment.end, start)),
    ),
  );
}

function declaredNames(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration") {
    return (declaration["declarations"] as Node[]).map((one) => child(one, "id")?.["name"] as string);
  }
  const name = child(declaration, "id")?.["name"];
  return typeof name === "string" ? [name] : [];
}
