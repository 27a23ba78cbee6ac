/**
 * How the code of the package is made: the sources, joined into few files. Node takes about a millisecond to find and load a file, and a short command
 * of the command line needs 240 of our sources. The types stay one file for each source: tsc makes them.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** The doors of the package, and the thread that it starts, which is beside the code that starts it. */
const DOORS = {
  index: "index.ts",
  server: "server.ts",
  "testing/index": "testing/index.ts",
  "nestjs/index": "nestjs/index.ts",
  "cli/main": "cli/main.ts",
  "parts/beat-thread": "worker/renewal/beat-thread.ts",
};

/**
 * Sources that are loaded together are one file. Each engine is one, and so is the server: what a program does not use, it does not load. No two files
 * may import each other: the values of one would be missing when the other is run.
 */
const PARTS: readonly (readonly [name: string, sources: RegExp])[] = [
  ["core", /^(core|lib|config)\/|^config\.ts/],
  ["sqlite", /^store\/sqlite\//],
  ["postgres", /^store\/postgres\//],
  ["redis", /^store\/redis\//],
  ["memory", /^store\/memory\//],
  ["store", /^store\/[^/]+$/],
  ["client", /^(client|upkeep|worker|flows)\/|^(client-\w+|connect)\.ts|^webhook\/outgoing-checks/],
  ["wire", /^http\/wire\//],
  ["remote", /^http\/remote/],
  ["server", /^http\//],
  ["cli", /^cli\/[^/]+$/],
];

/** The command line looks at the version of Node before it loads anything else, and a door starts what it opens: neither is part of another file. */
const ALONE = /beat-thread|core\/node-version|cli\/(main|terminal)\.ts/;

const sources = fileURLToPath(new URL("src/", import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  publicDir: false,
  build: {
    // For Node: what is installed beside the package is not part of it.
    ssr: true,
    target: "node22",
    minify: false,
    outDir: "dist",
    // The types are there already.
    emptyOutDir: false,
    rolldownOptions: {
      input: Object.fromEntries(Object.entries(DOORS).map(([door, source]) => [door, path.join(sources, source)])),
      external: (name) => !name.startsWith(".") && !path.isAbsolute(name),
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "parts/[name].js",
        codeSplitting: {
          // A part has its own sources only: what they import is in the part that it belongs to.
          includeDependenciesRecursively: false,
          groups: PARTS.map(([name, part]) => ({ name, test: (file: string) => isIn(part, file) })),
        },
      },
      onwarn(warning, warn) {
        // It is in a part that is loaded anyway: nothing is lost.
        if (warning.code !== "INEFFECTIVE_DYNAMIC_IMPORT") warn(warning);
      },
    },
  },
});

function isIn(part: RegExp, file: string): boolean {
  return file.startsWith(sources) && !ALONE.test(file) && part.test(file.slice(sources.length).replaceAll("\\", "/"));
}
