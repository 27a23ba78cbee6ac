// A lock file, ours or one of the tests, that lacks the packages of other platforms is refused by `npm ci` everywhere (scripts/complete-lock.js tells why).

import type { Files } from "./files.ts";

interface Locked {
  optionalDependencies?: Record<string, string>;
}

export function missingFromLock(files: Files): string[] {
  return [...files.keys()]
    .filter((file) => /(^|\/)package-lock\.json$/.test(file))
    .flatMap((file) => missingFrom(file, files.get(file) ?? "{}"));
}

function missingFrom(file: string, text: string): string[] {
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, Locked> };
  return Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`node_modules/${name}`] && !packages[`${place}/node_modules/${name}`])
      .map((name) => `${file} lacks ${name}: \`npm run lock\` adds it`),
  );
}
