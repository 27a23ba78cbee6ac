// Adds to package-lock.json the platform packages that npm left out of it: `npm run lock`, after dependencies have changed.
//
// Compilers such as rolldown ship one optional package for each platform. When a registry cannot serve one of them (a mirror that is
// behind, a proxy with a filter), npm writes a lock file without it and says nothing; from then on `npm ci` refuses that lock file on
// every machine. Their versions are known, their parent pins them exactly, and name and version are all that another machine needs.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const lockFile = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(lockFile, "utf8"));

let added = 0;
for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (lock.packages[`node_modules/${name}`] || !/^\d/.test(version)) continue;
    lock.packages[`node_modules/${name}`] = { version, ...platformOf(name), dev: parent.dev, license: parent.license, optional: true };
    added += 1;
  }
}

if (added > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(lockFile, JSON.stringify(lock, undefined, 2) + "\n");
}
console.log(`${added} platform packages added to package-lock.json`);

/** `@oxlint/binding-linux-arm64-musl` runs on linux, arm64 and musl; the names follow one convention in all these projects. */
function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = words.find((word) =>
    ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "aix", "win32"].includes(word),
  );
  const cpu = words.find((word) => /^(arm|arm64|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)$/.test(word));
  if (!cpu) throw new Error(`${name} does not tell its platform by its name: add it to package-lock.json by hand`);
  const libc = name.includes("musl") ? "musl" : /gnu/.test(name) ? "glibc" : undefined;
  return { cpu: [cpu], ...(libc && os === "linux" && { libc: [libc] }), ...(os && { os: [os] }) };
}
