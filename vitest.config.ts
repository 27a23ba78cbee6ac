import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take half a minute and more. What begins last must be short, or one core has nothing to do at the end. */
const LONG =
  /-model|torture|faults|dashboard|simulation|numbers|conformance\/(postgres|redis|client)|contract|e2e\/(cli|serve|processes|package|docs)/;

// Threads and processes that tests start run our TypeScript as it is. With a cache they read what Node made of it: a thread starts in a third of
// the time. Without one, each thread loads Node's compiler in WebAssembly, where others have seen V8 crash while several threads do that at once.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  // Leads `import "millrace"` to our sources. Vitest hands the conditions on to Node, so that threads which a test starts have them too.
  ssr: { resolve: { conditions: ["millrace-source", "node", "module", "default"] } },
  test: {
    projects: [
      // Small and many: to load our modules anew for each file took longer than most of their tests. Nothing they do outlives a file.
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"], isolate: false } },
      { extends: true, test: { name: "whole", include: ["test/**/*.test.ts"], exclude: ["test/unit/**"] } },
    ],
    // Processes, not threads: tests kill workers, start threads of their own and open databases.
    pool: "forks",
    // Twice the cores that we count on: tests of processes, servers and browsers wait for these a third of their time. Three workers left a
    // quarter of two cores unused.
    maxWorkers: 4,
    globalSetup: "test/servers/first-data.ts",
    sequence: { sequencer: LongFilesFirst },
    globals: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    // A test that was left with `.only` hides all others: an error here and everywhere.
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
