import type { Load } from "../queue.ts";

/** What a process is asked to do. It answers each with `done`; `add` and `work` go on until `stop`. */
export type Request = ({ readonly kind: "work" } & Load) | { readonly kind: "add"; readonly callers: number } | { readonly kind: "stop" };

/** What it tells: that a request is done, or how many jobs it did since its last message, and the CPU time it has used. */
export type Answer = { readonly kind: "done" } | { readonly kind: "did"; readonly jobs: number; readonly cpuUs: number };
