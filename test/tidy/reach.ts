// A source file that no public door leads to is dead.

import type { Files } from "./files.ts";
import { sourceFiles } from "./files.ts";
import { importedSpecifiers, isRelative, resolveRelative } from "./imports.ts";

/** Where the world comes in: the package's exports, its command, and the page of the dashboard. */
const doors = ["src/index.ts", "src/testing/index.ts", "src/server.ts", "src/nestjs/index.ts", "src/cli/main.ts", "src/dashboard/main.tsx"];

export function deadSources(files: Files): string[] {
  const reached = new Set<string>();
  const waiting = doors.filter((door) => files.has(door));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    waiting.push(...neighbours(files, file));
  }
  return sourceFiles(files).filter((file) => !reached.has(file) && !file.endsWith(".d.ts"));
}

function neighbours(files: Files, file: string): string[] {
  return importedSpecifiers(file, files.get(file) ?? "")
    .filter(isRelative)
    .flatMap((specifier) => resolveRelative(files, file, specifier) ?? [])
    .filter((target) => target.startsWith("src/") && /\.tsx?$/.test(target));
}
