import { defineConfig } from "vitest/config";

export default defineConfig({
  // Leads `import "millrace"` to our sources. Vitest hands the conditions on to Node, so that threads which a test starts have them too.
  ssr: { resolve: { conditions: ["millrace-source", "node", "module", "default"] } },
  test: {
    include: ["test/**/*.test.ts"],
    // Processes, not threads: tests kill workers, start threads of their own and open databases.
    pool: "forks",
    maxWorkers: 2,
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
