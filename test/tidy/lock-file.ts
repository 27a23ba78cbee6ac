// A lock file that lacks the packages of other platforms is refused by `npm ci` everywhere (scripts/complete-lock.js tells why).

import type { Files } from "./files.ts";

interface Locked {
  optionalDependencies?: Record<string, string>;
}

export function missingFromLock(files: Files): string[] {
  const { packages = {} } = JSON.parse(files.get("package-lock.json") ?? "{}") as { packages?: Record<string, Locked> };
  return Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`node_modules/${name}`] && !packages[`${place}/node_modules/${name}`])
      .map((name) => `package-lock.json lacks ${name}: \`npm run lock\` adds it`),
  );
}
