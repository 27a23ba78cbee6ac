/**
 * Loaded before a program, and in each of its threads: a Date that is off by as many milliseconds as a file says, from one moment to the next.
 * So the clock of one process can be set while it runs. Monotonic time and timers go on as they do when somebody sets a machine's clock.
 */
import { readFileSync } from "node:fs";

const LOOK_EVERY_MS = 20;

const path = process.env["MILLRACE_TORTURE_CLOCK"]!;
const RealDate = Date;
let shiftMs = 0;
let lookedAt = -Infinity;

function now(): number {
  if (performance.now() - lookedAt >= LOOK_EVERY_MS) {
    lookedAt = performance.now();
    shiftMs = Number(readFileSync(path, "utf8"));
  }
  return RealDate.now() + shiftMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: [], self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self) as Date,
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name, target)),
});
