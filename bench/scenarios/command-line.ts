/**
 * WHAT A PROCESS OF THE COMMAND LINE COSTS: how long a command takes from start to end, and the memory of a worker that has nothing to do. It is
 * the compiled package on the current Node. On a busy machine CPU time says more than the clock, so both are measured.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Entrant } from "../contest.ts";
import { percentileOf, sampleFor, timeOf } from "../measure/sample.ts";
import type { Session } from "../session.ts";
import type { Tree } from "../tree.ts";
import type { Scenario } from "./scenario.ts";

export const commandLine: Scenario = {
  name: "command-line",
  isOnPage: true,
  async measure(session) {
    if (!session.engine.isShared) return [];
    using packages = new Packages();
    for (const tree of session.trees) packages.of(tree);
    const ours = session.ofTrees((tree) =>
      session.onFreshUrl(async (url) => {
        const { main, folder } = packages.of(tree);
        const server = await startUntil(["server", "--port", "0", "--url", url], packages.of(tree), /https?:\/\/[^/\s]+/);
        try {
          const overHttp = await timeStarts(session, [main, "stats", "--url", server.said], folder);
          return [...(await timeStarts(session, [main, "stats", "--url", url], folder)), ...overHttp];
        } finally {
          await server.stop();
        }
      }),
    );
    const nodeAlone: Entrant = {
      name: "node alone",
      kind: "bare",
      async run() {
        const times = await timeStarts(session, ["--eval", "0"], packages.of(session.trees[0]).folder);
        return [...times, ...times];
      },
    };
    const times = await session.contest(
      [
        { what: "millrace stats", unit: "ms" },
        { what: "millrace stats, CPU", unit: "ms" },
        { what: "millrace stats, over a server", unit: "ms" },
        { what: "millrace stats, over a server, CPU", unit: "ms" },
      ],
      [...ours, nodeAlone],
    );
    const idle = session.ofTrees((tree) => session.onFreshUrl(async (url) => [await idleMegabytes(session, url, packages.of(tree))]));
    return [...times, ...(await session.contest([{ what: "memory of an idle worker", unit: "MB" }], idle))];
  },
};

// ── The package ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A compiled checkout, and a home folder, so that the cache of compiled code belongs to this run, and is warm as for a second command. */
interface Package {
  readonly main: string;
  readonly folder: string;
}

const HANDLERS = "handlers.mjs";

/** Compiles each checkout once. */
class Packages implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-bench-start-"));
  readonly #packages = new Map<string, Package>();

  constructor() {
    process.once("exit", () => this[Symbol.dispose]());
  }

  of({ folder: checkout }: Tree): Package {
    const known = this.#packages.get(checkout);
    if (known !== undefined) return known;
    const folder = join(this.#folder, String(this.#packages.size));
    mkdirSync(folder);
    // As `npm run build`, but into another folder.
    const vite = join(checkout, "node_modules", "vite", "bin", "vite.js");
    const args = ["build", "--config", "vite.package.config.ts", "--outDir", join(folder, "dist"), "--logLevel", "warn"];
    execFileSync(process.execPath, [vite, ...args], { cwd: checkout, stdio: ["ignore", process.stderr, process.stderr] });
    copyFileSync(join(checkout, "package.json"), join(folder, "package.json"));
    symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, HANDLERS), "export default { bench: async () => {} };\n");
    const made = { main: join(folder, "dist", "cli", "main.js"), folder };
    this.#packages.set(checkout, made);
    return made;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function environment(folder: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  // The page is not built: no command that is measured serves it.
  return { PATH, HOME: folder, XDG_CACHE_HOME: join(folder, "cache"), DASHBOARD_ENABLED: "false" };
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Writes its CPU time where the parent reads it. */
const TELL_CPU = `data:text/javascript,${encodeURIComponent(
  'import { writeSync } from "node:fs"; process.on("exit", () => { const { user, system } = process.cpuUsage(); writeSync(3, String((user + system) / 1000)); });',
)}`;

/** By the clock and by the CPU, each for half of the time, because telling the CPU time costs time. */
async function timeStarts({ extent }: Session, argv: readonly string[], folder: string): Promise<[wallMs: number, cpuMs: number]> {
  const wall = await sampleFor(extent.seconds / 2, () => wallMs(argv, folder));
  const cpu = await sampleFor(extent.seconds / 2, () => cpuMs(argv, folder));
  return [percentileOf(wall, 0.5), percentileOf(cpu, 0.5)];
}

function wallMs(argv: readonly string[], folder: string): Promise<number> {
  return timeOf(() =>
    endedWell(spawn(process.execPath, [...argv], { env: environment(folder), stdio: ["ignore", "ignore", "inherit"] }), argv),
  );
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

async function endedWell(child: ChildProcess, argv: readonly string[]): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}`);
}

// ── Memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The median of the resident memory over the time of a run. */
async function idleMegabytes({ extent }: Session, url: string, made: Package): Promise<number> {
  const worker = await startUntil(["worker", "--handlers", HANDLERS, "--url", url], made, /a worker for/);
  try {
    const samples = await sampleFor(extent.seconds, async () => residentMegabytes(worker.pid), 100);
    return percentileOf(samples, 0.5);
  } finally {
    await worker.stop();
  }
}

function residentMegabytes(pid: number): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;
}

/** Starts a command that does not end, and waits until it says something that fits. */
async function startUntil(
  args: readonly string[],
  { main, folder }: Package,
  words: RegExp,
): Promise<{ said: string; pid: number; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: environment(folder), stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  let all = "";
  const said = await new Promise<string>((resolve, reject) => {
    const listen = (text: Buffer): void => {
      all += text.toString();
      const found = words.exec(all)?.[0];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    void closed.then(() => reject(new Error(`millrace ${args[0]} did not start:\n${all}`)));
  });
  return {
    said,
    pid: child.pid!,
    async stop() {
      kill();
      process.off("exit", kill);
      await closed;
    },
  };
}
