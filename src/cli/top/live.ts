/** `top` on a terminal: draws snapshots and reads keys until you quit. */
import { sleep, systemClock } from "../../lib/clock.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import { type FramePlace, frameOf } from "./frame.ts";
import { FullScreen } from "./screen.ts";
import type { Snapshot, Watch } from "./snapshot.ts";

const CTRL_C = "\u0003";

/** What does not change from one frame to the next. */
export type FrameStyle = Omit<FramePlace, "width" | "height" | "note">;

/** The view and its state. */
export class LiveView {
  readonly #watch: Watch;
  readonly #style: FrameStyle;
  readonly #screen: FullScreen;
  readonly #ending = new AbortController();
  #wake = new AbortController();
  #snapshot: Snapshot | null = null;
  #isPaused = false;
  #trouble = "";
  #exitCode: ExitCode = EXIT.ok;

  constructor(watch: Watch, style: FrameStyle, { stdin, stdout }: Terminal) {
    this.#watch = watch;
    this.#style = style;
    this.#screen = new FullScreen({ screen: stdout, input: stdin, onKey: (key) => this.#press(key), onResize: () => this.#draw() });
  }

  /** Draws until a key or a signal ends it, then restores the terminal. */
  async run(intervalMs: number): Promise<ExitCode> {
    const end = (): void => this.#end(EXIT.interrupted);
    process.once("SIGTERM", end).once("SIGHUP", end);
    this.#screen.open();
    const listening = this.#watch.listen(this.#ending.signal);
    try {
      while (!this.#ending.signal.aborted) {
        this.#wake = new AbortController();
        await this.#look();
        this.#draw();
        await sleep(systemClock, intervalMs, this.#wake.signal);
      }
    } finally {
      this.#screen.close();
      process.off("SIGTERM", end).off("SIGHUP", end);
      this.#ending.abort();
      await listening;
    }
    return this.#exitCode;
  }

  /** If the store is unavailable, the last frame stays on the screen, with the reason. */
  async #look(): Promise<void> {
    if (this.#isPaused && this.#snapshot !== null) return;
    try {
      this.#snapshot = await this.#watch.look(Date.now());
      this.#trouble = "";
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error);
    }
  }

  #draw(): void {
    if (this.#snapshot === null) return;
    const note = this.#trouble || (this.#isPaused ? "paused; p resumes" : "q quits");
    this.#screen.draw(frameOf(this.#snapshot, { ...this.#style, ...this.#screen.size, note }));
  }

  #press(key: string): void {
    if (key === "q" || key === "Q") return this.#end(EXIT.ok);
    if (key === CTRL_C) return this.#end(EXIT.interrupted);
    if (key === "p") this.#isPaused = !this.#isPaused;
    this.#wake.abort();
  }

  #end(code: ExitCode): void {
    this.#exitCode = code;
    this.#ending.abort();
    this.#wake.abort();
  }
}
