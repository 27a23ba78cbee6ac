/** A full-screen view: it writes only lines that changed, and restores the terminal at the end. */
import type { Input, Screen } from "../terminal.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[2J";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const CLEAR = "\u001b[2J";
const REST_OF_LINE = "\u001b[K";

/** The whole screen of a terminal. */
export class FullScreen {
  readonly #screen: Screen;
  readonly #input: Input;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #shown: readonly string[] = [];
  #isOpen = false;

  constructor(parts: { screen: Screen; input: Input; onKey: (key: string) => void; onResize: () => void }) {
    this.#screen = parts.screen;
    this.#input = parts.input;
    this.#onKey = parts.onKey;
    this.#onResize = parts.onResize;
  }

  get size(): { readonly width: number; readonly height: number } {
    return { width: this.#screen.columns ?? 80, height: this.#screen.rows ?? 24 };
  }

  open(): void {
    this.#isOpen = true;
    this.#screen.write(ENTER);
    this.#screen.on("resize", this.#resized);
    this.#input.setRawMode?.(true);
    this.#input.on("data", this.#typed).resume();
    // However the process ends, it must not leave the terminal without echo and cursor.
    process.on("exit", this.#restore);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#input.off("data", this.#typed).pause();
    this.#screen.off("resize", this.#resized);
    process.off("exit", this.#restore);
    this.#restore();
  }

  /** Shows these lines, as many as fit. */
  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.size.height);
    const count = Math.max(shown.length, this.#shown.length);
    const changes = Array.from({ length: count }, (_, index) =>
      shown[index] === this.#shown[index] ? "" : lineAt(index, shown[index] ?? ""),
    );
    this.#shown = shown;
    const text = changes.join("");
    if (text !== "") this.#screen.write(text);
  }

  readonly #resized = (): void => {
    this.#shown = [];
    this.#screen.write(CLEAR);
    this.#onResize();
  };

  readonly #typed = (bytes: Buffer): void => {
    for (const key of bytes.toString("utf8")) this.#onKey(key);
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#input.setRawMode?.(false);
    this.#screen.write(LEAVE);
  };
}

function lineAt(index: number, line: string): string {
  return `\u001b[${index + 1};1H${line}${REST_OF_LINE}`;
}
