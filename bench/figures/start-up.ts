/**
 * HOW LONG A COMMAND TAKES from start to end: the compiled package on the current Node. At most 150 ms is required. On a busy machine CPU
 * time says more than the clock, so both are measured.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { contest, type Run } from "../contest.ts";
import type { Figure } from "../report.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** More rounds than for other figures: a start is short, and other load disturbs it easily. */
const STARTS = 5;
const WHAT = ["millrace --version", "millrace stats, SQLite", "millrace stats, server"] as const;

/** Writes its CPU time where the parent reads it. */
const TELL_CPU = `data:text/javascript,${encodeURIComponent(
  'import { writeSync } from "node:fs"; process.on("exit", () => { const { user, system } = process.cpuUsage(); writeSync(3, String((user + system) / 1000)); });',
)}`;

/** Start-up times, compared with that of Node alone, which is the minimum. */
export async function startUpFigures(rounds: number): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-start-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const main = compile(folder);
  const store = `sqlite:${join(folder, "jobs.db")}`;
  const server = await startServer(main, folder, store);
  try {
    const commands = [[main, "--version"], [main, "stats", "--url", store], [main, "stats", "--url", server.url]]; // prettier-ignore
    const bare = WHAT.map(() => ["--eval", "0"]);
    const figures = [];
    for (const [clock, measure] of [
      ["", wallMs],
      [", processor", cpuMs],
    ] as const) {
      const run =
        (argvs: readonly (readonly string[])[]): Run =>
        () =>
          eachBest(argvs, folder, measure);
      const what = WHAT.map((name) => `${name}${clock}`);
      const others = [{ name: "node alone", run: run(bare) }];
      figures.push(...(await contest({ engine: "command line", what, unit: "ms", ours: run(commands), others, rounds })));
    }
    return figures;
  } finally {
    server.stop();
    remove();
  }
}

/** As `npm run build`, but into another folder. */
function compile(folder: string): string {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist")], { stdio: "inherit" });
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return join(folder, "dist", "cli", "main.js");
}

async function startServer(main: string, folder: string, store: string): Promise<{ url: string; stop: () => void }> {
  const child = spawn(process.execPath, [main, "server", "--port", "0", "--url", store], {
    env: environment(folder),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const stop = (): void => void child.kill("SIGKILL");
  process.once("exit", stop);
  let said = "";
  for await (const text of child.stderr.setEncoding("utf8")) {
    said += text as string;
    const url = /https?:\/\/[^/\s]+/.exec(said)?.[0];
    if (url !== undefined) return { url, stop };
  }
  throw new Error(`the server did not start:\n${said}`);
}

/** Its own home folder, so that the cache of compiled code belongs to this run, and is warm as for a second command. */
function environment(folder: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { PATH, HOME: folder, XDG_CACHE_HOME: join(folder, "cache") };
}

type Measure = (argv: readonly string[], folder: string) => Promise<number>;

async function eachBest(argvs: readonly (readonly string[])[], folder: string, measure: Measure): Promise<number[]> {
  const best = [];
  for (const argv of argvs) {
    const times = [];
    for (let start = 0; start < STARTS; start++) times.push(await measure(argv, folder));
    best.push(Math.min(...times));
  }
  return best;
}

async function wallMs(argv: readonly string[], folder: string): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [...argv], { env: environment(folder), stdio: ["ignore", "ignore", "inherit"] });
  await endedWell(child, argv);
  return performance.now() - started;
}

async function cpuMs(argv: readonly string[], folder: string): Promise<number> {
  const child = spawn(process.execPath, ["--import", TELL_CPU, ...argv], {
    env: environment(folder),
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  let said = "";
  child.stdio[3]!.on("data", (text: Buffer) => (said += text.toString()));
  await endedWell(child, argv);
  return Number(said);
}

async function endedWell(child: ReturnType<typeof spawn>, argv: readonly string[]): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}`);
}
