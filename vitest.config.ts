import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, the longest first: what begins last must be short, or one core has nothing to do at the end. In two lists, from which
 * files are taken in turns: a file of the first one waits most of its time, for leases, timers and processes; one of the second uses a core.
 */
const LONG_WAITS = names(`
  faults/store-away faults/poison e2e/serve.test e2e/processes-postgres e2e/processes-redis e2e/package faults/wire e2e/cli-processes
  torture/ e2e/processes-sqlite databases/transactions peers/migrating e2e/server-killed e2e/examples soak/soak e2e/live e2e/worker-log faults/
`);
const LONG_WORK = names(`
  e2e/dashboard-truth e2e/dashboard.test conformance/postgres-model conformance/postgres.test e2e/dashboard-looks e2e/dashboard-job
  e2e/dashboard-trouble conformance/redis-cluster conformance/client-sqlite e2e/settings e2e/dashboard-numbers conformance/redis e2e/cli.test
  conformance/client e2e/cli-servers contract/sqlite e2e/server-fuzz simulation/ e2e/docs conformance/ planted/ contract/ e2e/dashboard tidy
`);

function names(text: string): string[] {
  return text.trim().split(/\s+/);
}

// Threads and processes that tests start run our TypeScript as it is. With a cache they read what Node made of it: a thread starts in a third of
// the time. Without one, each thread loads Node's compiler in WebAssembly, where others have seen V8 crash while several threads do that at once.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = new Set((await super.sort(files)).sort((a, b) => Number(isUnit(a)) - Number(isUnit(b))));
    const [waits, work] = [take(rest, LONG_WAITS), take(rest, LONG_WORK)];
    const inTurns = Array.from({ length: Math.max(waits.length, work.length) }, (_, index) => [waits[index], work[index]]);
    return [...inTurns.flat().filter((file) => file !== undefined), ...rest];
  }
}

/** Small and many, and in the same processes: so they come last, and side by side. */
function isUnit({ project }: TestSpecification): boolean {
  return project.name === "unit";
}

/** Takes those out that are named in a list, in its order. */
function take(files: Set<TestSpecification>, list: readonly string[]): TestSpecification[] {
  const isNamed = (name: string, file: TestSpecification): boolean => !isUnit(file) && file.moduleId.includes(`/test/${name}`);
  const taken = new Set(list.flatMap((name) => [...files].filter((file) => isNamed(name, file))));
  for (const file of taken) files.delete(file);
  return [...taken];
}

/** Tests that need the packages of a folder of test/. */
const PACKAGES = [
  "test/databases/*.test.ts",
  "test/peers/*.test.ts",
  "test/e2e/{frameworks,package}.test.ts",
  "test/unit/nestjs/*.test.ts",
];

/**
 * Leads `import "millrace"` to our sources. Vitest hands the conditions on to Node, so that threads which a test starts have them too. They are
 * set last, because Vite adds `development` and `module` to those of the configuration, by which Node finds other files than it does for users.
 */
function onlyOurCondition(): Plugin {
  return {
    name: "only-our-condition",
    configResolved({ ssr }) {
      ssr.resolve = { ...ssr.resolve, conditions: ["millrace-source"] };
    },
  };
}

export default defineConfig({
  plugins: [onlyOurCondition()],
  test: {
    projects: [
      // Small and many: to load our modules anew for each file took longer than most of their tests. Nothing they do outlives a file.
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"], exclude: PACKAGES, isolate: false } },
      {
        extends: true,
        test: { name: "whole", include: ["test/**/*.test.ts"], exclude: ["test/unit/**", ...PACKAGES, "**/node_modules/**"] },
      },
      { extends: true, test: { name: "packages", include: PACKAGES, setupFiles: ["test/servers/test-packages.ts"] } },
    ],
    // Node loads our TypeScript as it does for users. Vite's own loader takes a tenth more time for the whole run, and gives us nothing: we replace
    // no modules and use nothing of Vite's.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Processes, not threads: tests kill workers, start threads of their own and open databases.
    pool: "forks",
    // More than the cores that we count on: half of the long files wait most of their time.
    maxWorkers: 5,
    globalSetup: ["test/servers/temporary-files.ts", "test/servers/first-data.ts"],
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
