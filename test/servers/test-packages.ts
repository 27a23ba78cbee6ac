import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// Vitest loads this before each file of the project "packages". `npm test` installs the packages of folders of test/ while other tests run, and this
// waits for them. Who runs such a file by itself has them installed by this.
await promisify(execFile)(process.execPath, [fileURLToPath(new URL("../../scripts/set-up.js", import.meta.url)), "--test-packages"]);
