// Docs name only what exists: links, scripts, paths, and the names that their code imports. And docs/ARCHITECTURE.md maps every engine.

import path from "node:path";
import type { Files } from "./files.ts";
import { exportedNames, publicDoors } from "./public-names.ts";

/** Each thing that the docs name and that is not there, as "README.md: what". */
export function missingFromDocs(files: Files): string[] {
  return [...files]
    .filter(([file]) => file === "README.md" || file === "CONTRIBUTING.md" || /^docs\/.*\.md$/.test(file))
    .flatMap(([file, text]) =>
      [...brokenLinks(files, file, text), ...unknownScripts(files, text), ...unknownPaths(files, text), ...unknownImports(files, text)].map(
        (trouble) => `${file}: ${trouble}`,
      ),
    );
}

const MAP = "docs/ARCHITECTURE.md";

/** Each file in the folder of an engine that the map names neither under its engine nor among what all engines have. */
export function unmappedEngineFiles(files: Files): string[] {
  const [ofAll = "", ...sections] = sectionsOf(files.get(MAP) ?? "");
  return [...files.keys()].flatMap((file) => {
    const [, engine, name] = /^src\/store\/(\w+)\/([^/]+\.ts)$/.exec(file) ?? [];
    if (engine === undefined || name === undefined || name.endsWith("-store.ts")) return [];
    const ofEngine = sections.find((section) => section.toLowerCase().startsWith(engine)) ?? "";
    return [ofAll, ofEngine].some((section) => section.includes(`\`${name}\``)) ? [] : [`${MAP} does not map ${file}`];
  });
}

/** What stands under "Engines": first what all have, then each engine, which begins with its name. */
function sectionsOf(text: string): string[] {
  const engines = /^## Engines\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? "";
  return engines.split(/^### /m);
}

function brokenLinks(files: Files, file: string, text: string): string[] {
  const prose = withoutCode(text);
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const defined = [...prose.matchAll(/^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$/gm)];
  return [...inline, ...defined].flatMap((match) => {
    const link = match[1] ?? "";
    return /^[a-z][a-z+.-]*:/i.test(link) || leadsSomewhere(files, file, link) ? [] : [`the link ${link} leads nowhere`];
  });
}

function leadsSomewhere(files: Files, from: string, link: string): boolean {
  const [place = "", anchor] = decodeURI(link).split("#");
  const target = place === "" ? from : path.posix.join(path.posix.dirname(from), place);
  if (!exists(files, target)) return false;
  return anchor === undefined || !target.endsWith(".md") || anchorsOf(files.get(target) ?? "").has(anchor);
}

/** The anchors that headings get on GitHub. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutFences(text).matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of text.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

function unknownScripts(files: Files, text: string): string[] {
  const { scripts = {} } = JSON.parse(files.get("package.json") ?? "{}") as { scripts?: Record<string, string> };
  const named = [...text.matchAll(/\bnpm (?:run ([a-z][\w:-]*)|(test|start)\b)/g)].map((match) => match[1] ?? match[2] ?? "");
  const unknown = named.filter((name) => !(name in scripts));
  return [...new Set(unknown)].map((name) => `package.json has no script ${name}`);
}

function unknownPaths(files: Files, text: string): string[] {
  const named = [...text.matchAll(/`((?:src|test|docs|bench|examples|scripts|\.ci)\/[^`\s]*)`/g)].map((match) => match[1] ?? "");
  // Of a pattern (`test/conformance/*.test.ts`, `src/store/<engine>`) the folder before it must exist; a line number is not the name.
  const places = named.map((name) => name.replace(/[^/]*[*<{…].*$/u, "").replace(/:\d+(-\d+)?$/, ""));
  return places.filter((place) => place !== "" && !exists(files, place)).map((place) => `there is no ${place}`);
}

function unknownImports(files: Files, text: string): string[] {
  return codeBlocks(text, /^(ts|tsx|js|typescript|javascript)$/).flatMap((code) =>
    [...code.matchAll(/import\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*["'](millrace(?:\/[\w-]+)*)["']/g)].flatMap((match) => {
      const [, names = "", from = ""] = match;
      const door = publicDoors[from];
      if (door === undefined) return [`there is no ${from} to import from`];
      const exported = namesBehind(files, door);
      return importedNames(names).flatMap((name) => (exported.has(name) ? [] : [`${from} exports no ${name}`]));
    }),
  );
}

const known = new WeakMap<Files, Map<string, ReadonlySet<string>>>();

/** What a door exports is found by reading half the tree: once for all pages. */
function namesBehind(files: Files, door: string): ReadonlySet<string> {
  const doors = known.get(files) ?? new Map<string, ReadonlySet<string>>();
  known.set(files, doors);
  const names = doors.get(door) ?? new Set(exportedNames(files, door).keys());
  doors.set(door, names);
  return names;
}

/** `type Job, connect as open` names Job and connect. */
function importedNames(list: string): string[] {
  return list
    .replace(/\/\/.*$/gm, "")
    .split(",")
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type\s+/, "")
          .split(/\s+as\s+/)[0] ?? "",
    )
    .filter((name) => name !== "");
}

function codeBlocks(text: string, language: RegExp): string[] {
  return [...text.matchAll(/^[ \t]*```(\w+)[^\n]*\n([\s\S]*?)^[ \t]*```/gm)].flatMap(([, name = "", code = ""]) =>
    language.test(name) ? [code] : [],
  );
}

function withoutFences(text: string): string {
  return text.replace(/^[ \t]*```[\s\S]*?^[ \t]*```/gm, "");
}

function withoutCode(text: string): string {
  return withoutFences(text).replace(/`[^`\n]*`/g, "");
}

function exists(files: Files, place: string): boolean {
  const clean = path.posix.normalize(place).replace(/\/$/, "");
  return clean === "." || files.has(clean) || [...files.keys()].some((file) => file.startsWith(`${clean}/`));
}
