import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { counter, type Family, gauge, plain } from "./exposition.ts";

const RESOLUTION_MS = 20;
/** A reading covers the time since the last one, but at least this long: two readers must not take each other's data. */
const WINDOW_MS = 10_000;

/** The state of this process: whether its event loop is free, and what it uses. */
export class ProcessFigures {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #version: string;
  #since = performance.now();

  constructor(version: string) {
    this.#version = version;
    this.#delay.enable();
  }

  stop(): void {
    this.#delay.disable();
  }

  families(): Family[] {
    const families = [...this.#lagFamilies(), ...this.#useFamilies()];
    if (performance.now() - this.#since >= WINDOW_MS) {
      this.#delay.reset();
      this.#since = performance.now();
    }
    return families;
  }

  #lagFamilies(): Family[] {
    const { active } = performance.eventLoopUtilization();
    return [
      gauge("millrace_event_loop_lag_p50_seconds", "Recent event loop lag, median.", [plain(this.#lag(50))]),
      gauge("millrace_event_loop_lag_p99_seconds", "Recent event loop lag, 99th percentile.", [plain(this.#lag(99))]),
      gauge("millrace_event_loop_lag_max_seconds", "Recent event loop lag, maximum.", [plain(this.#lag(100))]),
      counter("millrace_event_loop_active_seconds_total", "Time in which the event loop was active; its rate shows how busy it is.", [
        plain(active / 1000),
      ]),
    ];
  }

  #useFamilies(): Family[] {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const info = { version: this.#version, node: process.version };
    return [
      gauge("millrace_build_info", "Always 1; the labels have the versions.", [plain(1, info)]),
      counter("process_cpu_seconds_total", "Processor time that this process used.", [plain((user + system) / 1e6)]),
      gauge("process_resident_memory_bytes", "Memory that this process holds.", [plain(rss)]),
      gauge("process_start_time_seconds", "When this process started, since the epoch.", [plain(performance.timeOrigin / 1000)]),
      gauge("millrace_heap_used_bytes", "Memory of JavaScript objects.", [plain(heapUsed)]),
    ];
  }

  /** The time between two ticks of a timer beyond its interval, in seconds. */
  #lag(percentile: number): number {
    if (this.#delay.count === 0) return 0;
    const ns = percentile === 100 ? this.#delay.max : this.#delay.percentile(percentile);
    return Math.max(0, ns / 1e9 - RESOLUTION_MS / 1000);
  }
}
