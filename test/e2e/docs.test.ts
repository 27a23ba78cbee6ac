import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { freePort } from "../servers/free-port.ts";
import { codeBlocks } from "./code-blocks.ts";
import { FRAMEWORKS_PAGE } from "./framework-programs.ts";
import { joinedMillraceOfThisFile } from "./joined-millrace.ts";
import { plainEnvironment } from "./run-cli.ts";
import { complaintsOf, startProgram, temporaryFolder } from "./run-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What readers have: the package. */
const { millrace, compiled } = joinedMillraceOfThisFile();

/** The blocks of this page are one walk, which package.test.ts takes with the package as it is installed. */
const WALKED = "docs/quickstart.md";
/** Those of the next are servers, which frameworks.test.ts runs; those of the last run beside other queues, in test/peers/migrating.test.ts. */
const RUN_ELSEWHERE = [WALKED, FRAMEWORKS_PAGE, "docs/migrating.md"];
const documents = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];
const pages = documents.filter((name) => name.endsWith(".md") && !RUN_ELSEWHERE.includes(name));

/** What a block may import beside Millrace: a project that has it installed. */
const PACKAGES = ["zod", "pg", "drizzle-orm", "ioredis", "express", "hono", "vitest"];

interface Block {
  readonly name: string;
  readonly code: string;
}

/** Every block of a page in this language. */
function blocksOf(page: string, language: "ts" | "bash"): Block[] {
  const blocks = codeBlocks(readFileSync(join(root, page), "utf8"), language);
  return blocks.map(({ heading, code }) => ({ name: `${page} ${heading}`, code }));
}

describe.concurrent("every code block of the documentation is a program that runs", () => {
  test.for(pages.flatMap((page) => blocksOf(page, "ts")))("$name", async (block, { onTestFinished: atTheEnd }) => {
    const folder = temporaryFolder(atTheEnd);
    // As in a project of one's own: what the program imports is found beside it.
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(millrace, join(folder, "node_modules", "millrace"));
    for (const name of PACKAGES) symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "program.ts"), block.code);
    const program = startProgram(join(folder, "program.ts"), [], {
      cwd: folder,
      atTheEnd,
      conditions: [],
      env: { NODE_COMPILE_CACHE: compiled },
    });
    const { code } = await program.ended;
    expect({ code, stderr: complaintsOf(program) }).toEqual({ code: 0, stderr: "" });
  });
});

describe("every bash block of the documentation is a script that runs", () => {
  test.for(pages.flatMap((page) => blocksOf(page, "bash")))("$name", async (block, { onTestFinished: atTheEnd }) => {
    const cwd = temporaryFolder(atTheEnd);
    const bin = join(cwd, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "millrace"), `#!/bin/sh\nexec '${process.execPath}' '${join(millrace, "dist/cli/main.js")}' "$@"\n`, {
      mode: 0o755,
    });
    mkdirSync(join(cwd, "here"));
    // The usual port may be taken: here the server has another, and the script asks there.
    const port = String(await freePort());
    const { PATH, ...env } = plainEnvironment({ PORT: port, NODE_COMPILE_CACHE: compiled });
    const child = spawn("bash", ["-euo", "pipefail", "-c", block.code.replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)], {
      cwd: join(cwd, "here"),
      env: { ...env, PATH: `${bin}:${dirname(process.execPath)}:${PATH}` },
      stdio: ["ignore", "pipe", "pipe"],
      // What a script leaves running in the background is ended with it.
      detached: true,
    });
    atTheEnd(() => {
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {
        // All of them have ended.
      }
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, said: code === 0 ? "" : said }).toEqual({ code: 0, said: "" });
  });
});

describe("code that is not run says whose it is", () => {
  // Code of another library is shown beside ours: it cannot run here, and must not look as if it did. Other queues are run by
  // test/peers/migrating.test.ts, what needs a PostgreSQL by test/databases/transactions.test.ts.
  const others = ["bullmq", "pg-boss", "bee-queue", "agenda", "graphile-worker", "sentry", "opentelemetry", "postgres"];
  const allowed = ["ts", "bash", ...others.map((other) => `ts ${other}`)];

  test.for([...RUN_ELSEWHERE, ...pages])("%s", (page) => {
    const fences = [...readFileSync(join(root, page), "utf8").matchAll(/^```(\S[^\n]*)\n/gm)].map(([, language = ""]) => language);
    expect(fences.filter((language) => /^(ts|js|type|java|bash)/.test(language) && !allowed.includes(language))).toEqual([]);
  });
});

describe("every page is found from", () => {
  test.for(["README.md", "llms.txt"])("%s, and every page that it names is there", (index) => {
    const linked = [...readFileSync(join(root, index), "utf8").matchAll(/\]\((docs\/[\w-]+\.md)/g)].map(([, page = ""]) => page);
    const written = documents.filter((name) => /^docs\/.*\.md$/.test(name));
    expect([...new Set(linked)].sort()).toEqual(written.sort());
  });
});
