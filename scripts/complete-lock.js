// Adds missing platform packages to package-lock.json and to those of the tests: `npm run lock`, after dependencies have changed.
//
// Compilers such as rolldown ship one optional package per platform. If a registry cannot serve one of them (an outdated mirror, a
// filtering proxy), npm silently writes a lock file without it, and `npm ci` then refuses that lock file on every machine. The parent
// package pins their versions exactly, and name and version are all that another machine needs.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

for (const lockFile of globSync(["package-lock.json", "test/*/package-lock.json"], { cwd: root })) complete(lockFile);

function complete(lockFile) {
  const lock = JSON.parse(readFileSync(root + lockFile, "utf8"));
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
    writeFileSync(root + lockFile, JSON.stringify(lock, undefined, 2) + "\n");
  }
  console.log(`${added} platform packages added to ${lockFile}`);
}

/** `@oxlint/binding-linux-arm64-musl` runs on linux, arm64 and musl; all these projects use the same convention. */
function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = words.find((word) =>
    ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "aix", "win32"].includes(word),
  );
  const cpu = words.find((word) => /^(arm|arm64|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)$/.test(word));
  if (!cpu) throw new Error(`the name ${name} does not contain its platform: add the package to package-lock.json by hand`);
  const libc = name.includes("musl") ? "musl" : /gnu/.test(name) ? "glibc" : undefined;
  return { cpu: [cpu], ...(libc && os === "linux" && { libc: [libc] }), ...(os && { os: [os] }) };
}
