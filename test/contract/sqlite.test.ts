import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { contractSuite } from "./suite.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-contract-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

contractSuite("SQLite", async () => `sqlite:${join(folder, "jobs.db")}`);
