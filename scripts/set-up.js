// Installs what a fresh clone needs. `npm start` and `npm test` run this first, so that neither needs another command before it.
// With `--start` it installs what `npm start` needs: a third of the packages. Without, it adds the rest, as `npm install` does.
//
// This file runs on the machine's own Node (18 or later) before anything is installed: plain JavaScript, built-ins only.
// If there is nothing to do, it prints nothing and reads a few files.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (...parts) => path.join(root, ...parts);

const forStart = process.argv.includes("--start");
/** What `npm start` runs and builds: with `--start`, the packages that these files import are installed, and those that they need. */
const startSources = ["src", "vite.config.ts", "examples/handlers.ts"];

const onlyForStart = " start";

const stampFile = inRoot("node_modules", ".millrace-set-up");
const lockFile = inRoot(".set-up.lock");
const ourNode = inRoot("node_modules", ".bin", "node");
const ourNodeMajor = 24;
const npmProgram = process.platform === "win32" ? "npm.cmd" : "npm";

/** What must be installed, in order. */
const needs = [
  { name: "dependencies", ready: dependenciesAreInstalled, make: installDependencies },
  { name: `Node ${ourNodeMajor}`, ready: ourNodeRuns, make: installOurNode },
  { name: "platform packages", ready: () => missingPlatformPackages().length === 0, make: installPlatformPackages },
];

/**
 * System packages that only the tests need. Checked each time, because others may remove them. The first name and the first package are the
 * best; the others will do. (Headless Chromium takes two thirds of the time of the whole one.)
 */
const testPrograms = [
  { names: ["redis-server"], debianPackages: ["redis-server"] },
  {
    names: ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    debianPackages: ["chromium-headless-shell", "chromium"],
  },
  { names: ["zsh"], debianPackages: ["zsh"], mayBeMissing: true },
  { names: ["fish"], debianPackages: ["fish"], mayBeMissing: true },
];

if (!isSetUp()) withLock(setUp);
if (process.argv.includes("--tests") && wantedPrograms().length > 0) withLock(installPrograms);
if (process.argv.includes("--test-packages") && !testPackagesAreInstalled()) withLock(installTestPackages);

function setUp() {
  // Another process may have installed everything while this one waited for the lock.
  if (isSetUp()) return;
  for (const need of needs) {
    if (need.ready()) continue;
    const trouble = need.make();
    if (trouble || !need.ready()) giveUp(need.name, trouble);
  }
  writeFileSync(stampFile, isInstalled(root) ? wantedStamp() : wantedStamp() + onlyForStart);
}

function giveUp(what, trouble) {
  console.error(`set-up: ${what} could not be installed. ${trouble || "Remove node_modules and try again."}`);
  rmSync(lockFile, { force: true });
  process.exit(1);
}

// The stamp: for which package files node_modules was made, and whether it has all of them.

function isSetUp() {
  const stamp = readStamp();
  return existsSync(ourNode) && (stamp === wantedStamp() || (forStart && stamp === wantedStamp() + onlyForStart));
}

function wantedStamp() {
  const hash = createHash("sha256");
  for (const file of ["package.json", "package-lock.json"]) hash.update(readFileSync(inRoot(file)));
  // A folder shared between machines (a mounted volume, a copied tree) has the binaries of only one of them.
  return hash.update(`${process.platform}-${process.arch}`).digest("hex");
}

function readStamp() {
  return readIfThere(stampFile);
}

// Dependencies.

function dependenciesAreInstalled() {
  return isInstalled(root, wantedPackages());
}

/** Whether npm's record of installed packages matches the lock file, so that nothing is installed again after `npm install x`. */
function isInstalled(folder, packages = lockedPackages(folder)) {
  const record = readIfThere(path.join(folder, "node_modules", ".package-lock.json"));
  if (!record) return false;
  const installed = JSON.parse(record).packages;
  return Object.entries(packages).every(([place, wanted]) => wanted.optional || installed[place]?.version === wanted.version);
}

function installDependencies() {
  console.log("set-up: installing dependencies (first run, or the lock file has changed)");
  const isNew = !existsSync(inRoot("node_modules"));
  const wasForStart = readStamp()?.endsWith(onlyForStart);
  // A checkout that has all packages keeps all of them.
  if (forStart && (isNew || wasForStart) && installForStart()) return undefined;
  // `npm ci` would remove first what is there.
  return install(root, wasForStart ? ["install", "--no-save"] : ["ci"]);
}

function install(folder, command) {
  // `--include=dev`: the checks need these packages even with NODE_ENV=production.
  const args = [...command, "--include=dev", "--no-audit", "--no-fund", "--engine-strict=false", "--loglevel=error"];
  const done = withAddresses(folder, () => npm(args, folder)) || npm(args, folder);
  return done ? undefined : `Run \`npm ci\` in ${folder} to see why; it needs a network or a filled npm cache.`;
}

/**
 * The lock file has no addresses of packages, because each machine has its own registry. To find them out, npm would load the descriptions of all
 * versions of every package: as many bytes as the packages themselves. Nearly all registries have the usual addresses, so they are tried first, in a
 * file that npm prefers to the lock file.
 */
function withAddresses(folder, work) {
  const { stdout: registry, status } = spawnSync(npmProgram, ["config", "get", "registry"], { cwd: folder, encoding: "utf8" });
  if (status !== 0) return false;
  const file = path.join(folder, "npm-shrinkwrap.json");
  const lock = JSON.parse(readFileSync(path.join(folder, "package-lock.json"), "utf8"));
  for (const [place, locked] of Object.entries(lock.packages)) {
    if (place === "" || locked.resolved || locked.link) continue;
    const name = locked.name ?? nameAt(place);
    locked.resolved = new URL(`${name}/-/${path.posix.basename(name)}-${locked.version}.tgz`, registry.trim().replace(/\/?$/, "/")).href;
  }
  try {
    writeFileSync(file, JSON.stringify(lock));
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

// What `npm start` needs. npm cannot install a part of a lock file. So it installs from a smaller one, in a folder of its own.

function installForStart() {
  const folder = inRoot(".set-up");
  const { name, version, allowScripts, dependencies, devDependencies } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const wanted = withOurNode(startPackages());
  const inBoth = ([each]) => wanted[`node_modules/${each}`];
  const manifest = {
    name,
    version,
    allowScripts,
    dependencies: Object.fromEntries(Object.entries({ ...dependencies, ...devDependencies }).filter(inBoth)),
  };
  const lock = { name, version, lockfileVersion: 3, requires: true, packages: { "": manifest, ...wanted } };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(path.join(folder, "package-lock.json"), JSON.stringify(lock));
    copyFileSync(inRoot(".npmrc"), path.join(folder, ".npmrc"));
    // The only script is that of Node, and linkOurNode does its work.
    if (install(folder, ["ci", "--ignore-scripts"])) return false;
    rmSync(inRoot("node_modules"), { recursive: true, force: true });
    renameSync(path.join(folder, "node_modules"), inRoot("node_modules"));
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function wantedPackages() {
  return forStart ? startPackages() : lockedPackages(root);
}

/**
 * Node's own install script would get the package of this platform when all others are there, by another npm: that is a third of the time. So npm gets
 * it with the others, at the place where the script would put it.
 */
function withOurNode({ "node_modules/node": node, ...others }) {
  const place = `node_modules/node/node_modules/${nodePackage()}`;
  const needed = { ...node, optionalDependencies: { [nodePackage()]: node.version } };
  return { ...others, "node_modules/node": needed, [place]: { version: node.version, optional: true } };
}

/** The locked packages that `npm start` needs, by their places. */
function startPackages() {
  const locked = lockedPackages(root);
  const places = new Set();
  const add = (name, from) => {
    const place = placeOf(name, from, locked);
    if (!place || places.has(place)) return;
    places.add(place);
    for (const each of neededBy(locked[place])) add(each, place);
  };
  for (const name of ["node", ...startSources.flatMap(filesIn).flatMap(importedBy)]) add(name, "");
  return Object.fromEntries(Object.entries(locked).filter(([place]) => places.has(place)));
}

function neededBy({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies ?? {}), ...peers];
}

/** Where a package finds another: in its own folder, or in one above it. */
function placeOf(name, from, locked) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (locked[place] || folder === "") return locked[place] && place;
  }
}

function filesIn(place) {
  if (/\.\w+$/.test(place)) return [place];
  return readdirSync(inRoot(place)).flatMap((name) => filesIn(path.join(place, name)));
}

function importedBy(file) {
  const names = readFileSync(inRoot(file), "utf8").matchAll(/\b(?:from|import)[\s(]*"((?:@[^/"]+\/)?[^/"]+)/g);
  return [...names].map(([, name]) => name);
}

// Packages that only tests need, such as the frameworks that a server is mounted in: each folder of test/ with a package.json has its own. They are
// installed while the other tests run: see scripts/check.ts and test/servers/test-packages.ts.

function testFolders() {
  return readdirSync(inRoot("test"))
    .map((name) => inRoot("test", name))
    .filter((folder) => existsSync(path.join(folder, "package-lock.json")));
}

function testPackagesAreInstalled() {
  return testFolders().every(isInstalled);
}

function installTestPackages() {
  for (const folder of testFolders().filter((each) => !isInstalled(each))) {
    console.log(`set-up: installing the packages of ${path.relative(root, folder)} for the tests`);
    const trouble = install(folder, ["ci", "--ignore-scripts"]);
    if (trouble) giveUp(`the packages of ${path.relative(root, folder)}`, trouble);
  }
}

// Our own Node. The install script of the npm package `node` installs the package of this platform by another npm, and some npm settings forbid it.

function ourNodeRuns() {
  const { stdout } = spawnSync(ourNode, ["--version"], { encoding: "utf8" });
  return typeof stdout === "string" && stdout.startsWith(`v${ourNodeMajor}.`);
}

function installOurNode() {
  if (linkOurNode()) return undefined;
  console.log(`set-up: installing Node ${ourNodeMajor} for this project`);
  run("node", ["installArchSpecificPackage.js"], inRoot("node_modules", "node"));
  // npm did not link the program, because it was missing when npm unpacked the package; this only links it.
  npm(["rebuild", "node", "--ignore-scripts", "--loglevel=error"], root);
  return ourNodeRuns() ? undefined : "Run `npm rebuild node --foreground-scripts` to see why.";
}

function nodePackage() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  return `${platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node"}-${platform}-${process.arch}`;
}

/** What the install script does when it has the package: a second name for the program, which stays if npm removes what is not in the lock file. */
function linkOurNode() {
  const folder = inRoot("node_modules", "node");
  try {
    mkdirSync(path.join(folder, "bin"), { recursive: true });
    linkSync(path.join(folder, "node_modules", nodePackage(), "bin", "node"), path.join(folder, "bin", "node"));
    symlinkSync(path.join("..", "node", "bin", "node"), ourNode);
  } catch {
    return false;
  }
  return ourNodeRuns();
}

// Platform packages: the binaries of the linter and the test runner. They refuse Node 18, so npm on Node 18 silently leaves them out,
// but they will run on our own Node 24.

function missingPlatformPackages() {
  return Object.entries(wantedPackages())
    .filter(([place, wanted]) => wanted.optional && wanted.cpu && fitsThisMachine(wanted) && !existsSync(inRoot(place, "package.json")))
    .map(([place, wanted]) => `${nameAt(place)}@${wanted.version}`);
}

function installPlatformPackages() {
  // A package installed by name is not optional, and its `engines` only cause a warning.
  npm(["install", "--no-save", "--include=dev", "--engine-strict=false", "--loglevel=error", ...missingPlatformPackages()], root);
  const missing = missingPlatformPackages();
  return missing.length === 0 ? undefined : `Missing: ${missing.join(", ")}; use npm with Node 20.19 or later.`;
}

function fitsThisMachine({ os, cpu, libc }) {
  const glibc = process.report?.getReport().header.glibcVersionRuntime;
  const fits = (allowed, mine) => !allowed || allowed.includes(mine);
  return fits(os, process.platform) && fits(cpu, process.arch) && (process.platform !== "linux" || fits(libc, glibc ? "glibc" : "musl"));
}

// Programs for the tests. They are installed automatically as root on a system with apt-get. Otherwise a line says what is missing, and so
// do the tests that need it.

function isInPath(name) {
  return (process.env.PATH ?? "").split(path.delimiter).some((folder) => existsSync(path.join(folder, name)));
}

function wantedPrograms() {
  return testPrograms.filter(({ names }) => !names.some(isInPath));
}

function installPrograms() {
  const wanted = wantedPrograms();
  if (wanted.length > 0 && process.getuid?.() === 0 && run("apt-get", ["--version"], root)) {
    console.log(`set-up: installing ${wanted.map(({ names }) => names[0]).join(", ")} for the tests`);
    aptGet("update", "-qq");
    for (const program of wanted) installProgram(program);
  }
  for (const { names, mayBeMissing } of wantedPrograms()) {
    const effect = mayBeMissing ? "are skipped" : "will fail";
    console.error(
      `set-up: ${names[0]} is not installed, and the tests that need it ${effect}: install it with the package manager of your system`,
    );
  }
}

/** One at a time, so that a package that this system does not know does not stop the others. */
function installProgram({ names, debianPackages: [best, ...others] }) {
  aptGet("install", "-y", "-qq", "--no-install-recommends", best);
  for (const other of others) if (!names.some(isInPath)) aptGet("install", "-y", "-qq", "--no-install-recommends", other);
}

function aptGet(...args) {
  // Debian would start the servers that it installs; the tests start their own.
  run("apt-get", args, root, { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" });
}

// Tools.

function lockedPackages(folder) {
  const { "": _ourselves, ...packages } = JSON.parse(readFileSync(path.join(folder, "package-lock.json"), "utf8")).packages;
  return packages;
}

/** The name of the package at a place of a lock file, such as `node_modules/a/node_modules/@b/c`. */
function nameAt(place) {
  return place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** MILLRACE_SET_UP: no build after the installation, see prepare.js. */
function npm(args, cwd) {
  return run(npmProgram, args, cwd, { MILLRACE_SET_UP: "1" });
}

/** Uses the machine's own Node, because `npm ci` removes ours while it runs. */
function run(command, args, cwd, settings = {}) {
  const PATH = (process.env.PATH ?? "")
    .split(path.delimiter)
    .filter((folder) => path.resolve(folder) !== path.dirname(ourNode))
    .join(path.delimiter);
  // Hide npm's success messages ("added 90 packages"): the user wants to see the tests.
  const { status, stdout } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...settings, PATH },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0 && stdout) console.error(stdout);
  return status === 0;
}

function readIfThere(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Two terminals may start at once; the second waits for the first. A lock of a dead process is taken over. */
function withLock(work) {
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (lockIsStale()) rmSync(lockFile, { force: true });
      else sleep(200);
    }
  }
  try {
    work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function lockIsStale() {
  try {
    const owner = Number(readFileSync(lockFile, "utf8"));
    // The file is empty for a moment between its creation and the writing of the id.
    if (owner === 0) return Date.now() - statSync(lockFile).mtimeMs > 10_000;
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
