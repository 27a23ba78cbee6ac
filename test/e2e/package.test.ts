// The package as a user gets it: packed as for a release, installed into an empty folder, and run there with plain Node.

import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../servers/free-port.ts";
import { codeBlocks } from "./code-blocks.ts";
import { frameworkFiles, NEST_SETTINGS, writeFrameworkPrograms } from "./framework-programs.ts";
import { installMillrace, packMillrace } from "./packed-millrace.ts";
import { plainEnvironment } from "./run-cli.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
const project = join(folder, "project");
const installed = join(project, "node_modules", "millrace");
/** Compilers and npm, on a machine that may be busy with other tests. */
const PATIENCE = { timeout: 300_000 };
let tarball: string;
let files: readonly string[];
let saidByNpm: string;

beforeAll(async () => {
  tarball = await packMillrace(folder);
  files = execFileSync("tar", ["tzf", tarball], { encoding: "utf8" }).trim().split("\n").sort();
  saidByNpm = await installMillrace(tarball, project);
  // A project of NestJS has its packages; they are linked, as an installation takes long.
  for (const name of ["@nestjs", "reflect-metadata", "rxjs"])
    symlinkSync(join(root, "test/frameworks/node_modules", name), join(project, "node_modules", name));
}, 600_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Prints the address of every module that is loaded. */
const TELL_MODULES = `data:text/javascript,${encodeURIComponent(
  'import { registerHooks } from "node:module"; registerHooks({ load(url, context, next) { console.log("loaded " + url); return next(url, context); } });',
)}`;

/** A program of the new project, run by Node as it is. */
async function runProgram(name: string, code: string): Promise<string> {
  writeFileSync(join(project, name), code);
  return runNode(["--disable-warning=ExperimentalWarning", name]);
}

async function runNode(args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [...args], { cwd: project, env: userEnvironment() });
  expect(stderr).toBe("");
  return stdout;
}

/** The project's own commands are found by name, as `npx` and npm scripts find them. */
function userEnvironment(): Record<string, string> {
  const { PATH = "", ...env } = plainEnvironment({ NODE_COMPILE_CACHE: join(folder, "compiled") });
  return { ...env, PATH: `${join(project, "node_modules", ".bin")}:${dirname(process.execPath)}:${PATH}` };
}

async function bash(script: string): Promise<{ stdout: string; stderr: string }> {
  // The usual port may be taken: here the server has another, and the script asks there.
  const port = String(await freePort());
  const elsewhere = script.replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`);
  return run("bash", ["-euo", "pipefail", "-c", elsewhere], { cwd: project, env: { ...userEnvironment(), PORT: port } });
}

/** What the compiler says about a project. */
async function compile(place: string): Promise<string> {
  const args = [join(root, "node_modules/typescript/bin/tsc"), "-p", place, "--checkers", "1"];
  const { stdout } = await run(process.execPath, args, { cwd: place }).catch((error: { stdout: string }) => error);
  return stdout;
}

describe("the tarball", PATIENCE, () => {
  test("holds what is used, and nothing else", () => {
    const places = new Set(files.map((file) => file.split("/").slice(1, -1)[0] ?? ""));
    expect([...places].sort()).toEqual(["", "deploy", "dist", "docs"]);
    expect(files.filter((file) => !file.slice("package/".length).includes("/"))).toEqual(
      ["CHANGELOG.md", "LICENSE", "README.md", "llms.txt", "package.json"].map((name) => `package/${name}`),
    );
    expect(files.filter((file) => /\.(test|tsx?\.map)|(?<!\.d)\.tsx?$|tsbuildinfo|\.db$/.test(file))).toEqual([]);
  });

  test("has every file that package.json names", () => {
    const { exports, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
      exports: Record<string, string | Record<string, string>>;
      bin: Record<string, string>;
    };
    const named = Object.values(exports).flatMap(
      (target) =>
      typeof target === "string" ? [target] : Object.entries(target).flatMap(([condition, file]) => (condition === "millrace-source" ? [] : [file])), // oxfmt-ignore
    );
    expect(named).not.toEqual([]);
    expect([...named, ...Object.values(bin)].filter((file) => !existsSync(join(installed, file)))).toEqual([]);
  });

  test("has no scripts, which need the sources, and its clone has kept them", () => {
    const scriptsIn = (place: string): unknown =>
      (JSON.parse(readFileSync(join(place, "package.json"), "utf8")) as { scripts?: unknown }).scripts;
    expect(scriptsIn(installed)).toBeUndefined();
    expect(scriptsIn(join(folder, "sources"))).toEqual(scriptsIn(root));
    expect(saidByNpm).not.toContain("install-scripts");
  });

  test("has the dashboard's page with all that it loads", () => {
    const page = readFileSync(join(installed, "dist/dashboard/index.html"), "utf8");
    const loaded = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, file]) => file!).filter((file) => file !== "");
    expect(loaded.length).toBeGreaterThan(2);
    const isThere = (file: string): boolean => existsSync(join(installed, "dist/dashboard", file));
    expect(loaded.filter((file) => !isThere(file) && !(isThere(`${file}.gz`) && isThere(`${file}.br`)))).toEqual([]);
  });

  test("has no files that import each other in a circle: one of them would run before what it needs is there", () => {
    const parts = files.filter((file) => /^package\/dist\/(?!dashboard\/).*\.js$/.test(file)).map((file) => file.slice("package/".length));
    const importsOf = (part: string): string[] => {
      const code = readFileSync(join(installed, part), "utf8");
      return [...code.matchAll(/^(?:import|export)\b[^"]*"(\.[^"]+)"/gm)].map(([, name = ""]) => join(dirname(part), name));
    };
    const left = new Map(parts.map((part) => [part, importsOf(part)]));
    expect([...left.values()].flat().filter((part) => !left.has(part))).toEqual([]);
    // Whoever imports nothing that is left is in no circle.
    for (let size = Infinity; left.size < size;) {
      size = left.size;
      for (const [part, imports] of left) if (!imports.some((name) => left.has(name))) left.delete(part);
    }
    expect([...left.keys()]).toEqual([]);
  });

  test("has no maps: its code is the source without its types, with names and comments", () => {
    expect(files.filter((file) => file.endsWith(".map"))).toEqual([]);
    expect(readFileSync(join(installed, "dist/parts/client.js"), "utf8")).toMatch(
      /\/\*\* Dead letters: .* \*\/\nfunction createDeadLetters\(/,
    );
  });

  test("is of a size to install without a thought", () => {
    expect(readFileSync(tarball).length).toBeLessThan(2_500_000);
  });

  test("publint finds nothing to say", async () => {
    const bytes = new Uint8Array(readFileSync(tarball));
    const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("its types are found as its code is", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
    if (analysis.types === false) throw new Error("the package has no types");
    // The package is ESM only: Node 10 knew no exports, and a CommonJS program gets the same module by require().
    const isOurs = (problem: Problem): boolean =>
      !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind);
    expect(analysis.problems.filter(isOurs)).toEqual([]);
    expect(Object.keys(analysis.entrypoints).sort()).toEqual([".", "./nestjs", "./package.json", "./server", "./testing"]);
  });
});

describe("installed into an empty folder", PATIENCE, () => {
  test("brings no driver that was not asked for, and nothing of ours for development", () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    const there = new Set(readdirSync(join(project, "node_modules")));
    expect(Object.keys(dependencies).filter((name) => !existsSync(join(project, "node_modules", name)))).toEqual([]);
    expect(Object.keys(devDependencies).filter((name) => there.has(name))).toEqual([]);
  });

  test("a short command loads few files of ours: one of the engine that it uses, and none of others and of the server", async () => {
    const main = join(installed, "dist/cli/main.js");
    const { stdout } = await run(process.execPath, ["--import", TELL_MODULES, main, "stats", "--url", "sqlite:few.db"], {
      cwd: project,
      env: userEnvironment(),
    });
    const loaded = [...stdout.matchAll(/^loaded .*\/millrace\/dist\/(.*)$/gm)].map(([, file]) => file!);
    expect(loaded).toContain("parts/sqlite.js");
    expect(loaded.filter((file) => /parts\/(memory|postgres|redis|remote|server|serve)\d?\.js/.test(file))).toEqual([]);
    expect(loaded.length).toBeLessThan(25);
  });

  test("the quickstart runs from top to bottom", async () => {
    const page = readFileSync(join(installed, "docs/quickstart.md"), "utf8");
    const [install] = codeBlocks(page, "sh");
    // What was done to make this folder, with the tarball in the place of the registry.
    expect(install?.code.trim().split("\n")).toEqual(["npm init -y && npm pkg set type=module", "npm install millrace"]);
    let said = "";
    for (const { language, code, file } of codeBlocks(page, "ts", "bash")) {
      if (language === "bash") said += (await bash(code)).stdout;
      else {
        expect(file).toMatch(/\.ts$/);
        writeFileSync(join(project, file!), code);
      }
    }
    // What the page says that one will see.
    const promised = /It prints `([^`]+)`/.exec(page)![1]!;
    expect(said).toContain(promised);
    expect(said).toContain("as expected: it is a dead letter now");
  });

  test("the command line works", async () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect((await bash("millrace --version")).stdout.trim()).toBe(version);
    const url = `sqlite:${join(project, "cli.db")}`;
    const id = (await bash(`millrace enqueue email:send '{"to":"ann@example.com"}' --url ${url}`)).stdout.trim();
    const listed = JSON.parse((await bash(`millrace list --json --url ${url}`)).stdout) as { id: string; status: string };
    expect(listed).toMatchObject({ id, type: "email:send", status: "pending" });
  });

  test("every door opens", async () => {
    const said = await runProgram(
      "doors.ts",
      `import { connect } from "millrace";
       import { createTestClient } from "millrace/testing";
       import { createServer, listen } from "millrace/server";
       import { MillraceModule } from "millrace/nestjs";
       console.log(MillraceModule.forRoot().module === MillraceModule);
       await using client = await connect("memory:");
       const server = createServer(client, {});
       const port = await listen(server, { port: 0 });
       const job = await (await connect(port.url)).enqueue("over:http", [1]);
       console.log((await client.get(job.id))?.payload);
       await server.drain();
       await port.close({ graceMs: 0 });
       await using tests = await createTestClient();
       await tests.enqueue("a", 1);
       console.log(await tests.drain({ a: async () => "b" }));`,
    );
    expect(said).toContain("true\n[ 1 ]");
    expect(said).toContain("completed: 1");
  });

  test("a CommonJS program gets it by require()", async () => {
    const said = await runProgram(
      "old.cjs",
      `const { connect } = require("millrace");
       connect("memory:").then(async (client) => { console.log((await client.enqueue("a")).status); await client.close(); });`,
    );
    expect(said).toBe("pending\n");
  });

  test("a bundled program runs, and its server says where the dashboard is missing and what to do", async () => {
    writeFileSync(
      join(project, "to-bundle.ts"),
      `import { connect } from "millrace";
       import { createServer } from "millrace/server";
       await using client = await connect("memory:");
       try {
         createServer(client);
       } catch (error) {
         console.log((error as Error).message);
       }
       const server = createServer(client, { dashboard: false, open: true });
       console.log((await server.fetch(new Request("http://localhost/health", { headers: { host: "localhost" } }))).status);
       await server.close();`,
    );
    // In one file, as bundlers for servers make it.
    await build({
      root: project,
      configFile: false,
      logLevel: "error",
      ssr: { noExternal: true },
      build: { ssr: "to-bundle.ts", outDir: "bundled", target: "node24" },
    });
    const said = await runNode(["--disable-warning=ExperimentalWarning", "bundled/to-bundle.js"]);
    expect(said).toContain('serverExternalPackages: ["millrace"]');
    expect(said).toContain("\n200\n");
  });

  test.for([
    ["pg", "postgres://127.0.0.1:1/none"],
    ["ioredis", "redis://127.0.0.1:1"],
  ] as const)("a driver that is missing is named: %s", async ([driver, url]) => {
    const said = await runProgram(
      `missing-${driver}.ts`,
      `import { connect } from "millrace";
       await connect(${JSON.stringify(url)}).catch((error: Error) => console.log(error.message));`,
    );
    expect(said).toContain(`npm install ${driver}`);
  });

  test("its types hold up a strict program, and refuse a wrong one", async () => {
    // A TypeScript project on Node has these two; they are linked, as their versions are not the point.
    mkdirSync(join(project, "node_modules", "@types"), { recursive: true });
    symlinkSync(realpathSync(join(root, "node_modules/@types/node")), join(project, "node_modules/@types/node"));
    symlinkSync(realpathSync(join(root, "node_modules/undici-types")), join(project, "node_modules/undici-types"));
    symlinkSync(realpathSync(join(root, "node_modules/zod")), join(project, "node_modules/zod"));
    const settings = {
      compilerOptions: { strict: true, noEmit: true, module: "nodenext", target: "es2024", lib: ["esnext"], types: ["node"], skipLibCheck: false }, // oxfmt-ignore
      files: ["typed.ts"],
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(settings));
    writeFileSync(
      join(project, "typed.ts"),
      `import { type Client, connect, defineJob, type EnqueuedJob, MillraceError } from "millrace";
       import { createServer, type ServerOptions } from "millrace/server";
       import { createTestClient } from "millrace/testing";
       import * as z from "zod";
       const send = defineJob({ type: "email:send", input: z.object({ to: z.string() }) });
       const client: Client = await connect("memory:");
       const job: EnqueuedJob = await client.enqueue(send, { to: "ann@example.com" }, { priority: "high" });
       client.work([send.handle(async ({ to }, ctx) => to.length + ctx.job.attempt)]);
       const options: ServerOptions = {};
       createServer(client, options);
       (await createTestClient()).assertEnqueued({ type: "x" });
       const code: string = new MillraceError("not_found", job.id).code;
       // @ts-expect-error: the payload is checked against its schema
       await client.enqueue(send, { to: code.length });
       // @ts-expect-error: there is no such option
       await client.enqueue("a", 1, { prority: "high" });`,
    );
    expect(await compile(project)).toBe("");
  });

  test("its types fit those of the frameworks in docs/frameworks.md, and the route fits what Next.js asks for", async () => {
    const programs = join(folder, "frameworks");
    mkdirSync(programs);
    writeFrameworkPrograms(programs, installed);
    const settings = {
      compilerOptions: { ...NEST_SETTINGS, strict: true, noEmit: true, module: "nodenext", target: "es2024", lib: ["esnext", "dom"], types: ["node"], skipLibCheck: true, allowImportingTsExtensions: true }, // oxfmt-ignore
      files: [...frameworkFiles.map(({ file }) => file), "next-asks.ts", "nest-refuses.ts"],
    };
    writeFileSync(join(programs, "tsconfig.json"), JSON.stringify(settings));
    writeFileSync(
      join(programs, "next-asks.ts"),
      `import type { NextRequest } from "next/server.js";
       import type * as route from "./next/app/admin/jobs/[[...path]]/route.ts";
       type Handler = (request: NextRequest, context: { params: Promise<{ path?: string[] }> }) => Response | Promise<Response>;
       type Asked = { GET: Handler; POST: Handler; PUT: Handler; PATCH: Handler; DELETE: Handler; dynamic: "force-dynamic" };
       export const asked: Asked = {} as typeof route;`,
    );
    writeFileSync(
      join(programs, "nest-refuses.ts"),
      `import { defineJob, type Job } from "millrace";
       import { BatchJobHandler, JobHandler, MILLRACE_CLIENT, MillraceModule } from "millrace/nestjs";
       import { confirmOrder } from "./nest/orders.ts";
       import * as z from "zod";
       const resize = defineJob({ type: "image:resize", input: z.object({ width: z.coerce.number() }), output: z.object({ bytes: z.number() }) });
       export class Handlers {
         @JobHandler("any:type") any(payload: { a: string }) { return payload.a; }
         @JobHandler(resize) resize({ width }: { width: number }) { return { bytes: width }; }
         @BatchJobHandler(resize, { size: 10 }) many(jobs: readonly Job<{ width: number }>[]) { return jobs.map(({ payload }) => ({ bytes: payload.width })); }
         // @ts-expect-error: the payload of the definition is another
         @JobHandler(confirmOrder) other(payload: { order: string }) { return { confirmed: payload.order.length }; }
         // @ts-expect-error: the result of the definition is another
         @JobHandler(resize) result({ width }: { width: number }) { return { size: width }; }
         // @ts-expect-error: a method for many jobs
         @BatchJobHandler(resize) single({ width }: { width: number }) { return { bytes: width }; }
       }
       // @ts-expect-error: there is no such option
       MillraceModule.forRoot({ wroker: true });
       MillraceModule.forRootAsync({ imports: [Handlers], inject: [Handlers, MILLRACE_CLIENT, "token"], useFactory: async (_: Handlers) => ({ url: "memory:" }) });`,
    );
    expect(await compile(programs)).toBe("");
  });
});
