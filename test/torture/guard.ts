import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** What a run leaves behind if nobody tidies up. */
type Kind = "process" | "mount" | "folder";

/**
 * A small process that tidies up when its input ends: that comes when a run is over, and also when it was killed and can do nothing more. A
 * process that is stopped by SIGSTOP would otherwise stay for ever.
 */
const TIDY_UP = `
const { execFileSync } = require("node:child_process");
const { rmSync } = require("node:fs");
const left = { process: new Set(), mount: new Set(), folder: new Set() };
const orElse = (run) => { try { run(); } catch {} };
function tidyUp() {
  for (const pid of left.process) orElse(() => process.kill(Number(pid), "SIGKILL"));
  for (const path of left.mount) orElse(() => execFileSync("umount", ["-l", path], { stdio: "ignore" }));
  for (const path of [...left.mount, ...left.folder]) orElse(() => rmSync(path, { recursive: true, force: true }));
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
let text = "";
process.stdin.setEncoding("utf8").on("data", (piece) => {
  const lines = (text + piece).split("\\n");
  text = lines.pop();
  for (const line of lines) {
    const [word, kind, value] = JSON.parse(line);
    left[kind][word](value);
  }
}).on("end", tidyUp).on("error", tidyUp);
`;

/** Knows what has to go, whatever happens. */
export class Guard {
  readonly #child: ChildProcess = spawn(process.execPath, ["-e", TIDY_UP], { stdio: ["pipe", "ignore", "ignore"], detached: true });

  /** From now on this goes with the run. */
  add(kind: Kind, value: string | number): void {
    this.#say("add", kind, value);
  }

  /** This is gone already, or shall stay. */
  forget(kind: Kind, value: string | number): void {
    this.#say("delete", kind, value);
  }

  /** Tidies up all that is left. */
  async close(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.stdin!.end();
    await gone;
  }

  #say(word: "add" | "delete", kind: Kind, value: string | number): void {
    this.#child.stdin!.write(`${JSON.stringify([word, kind, String(value)])}\n`);
  }
}
