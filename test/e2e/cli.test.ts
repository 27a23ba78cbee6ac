import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cliSuite } from "./cli-suite.ts";

cliSuite("a SQLite file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-cli-"));
  return { url: `sqlite:${join(folder, "jobs.db")}`, close: async () => rmSync(folder, { recursive: true, force: true }) };
});
