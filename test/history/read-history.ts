import { closeSync, openSync, readSync } from "node:fs";
import type { Line } from "./line.ts";

const CHUNK_BYTES: number = 256 * 1024;

/** The lines of one file, read a piece at a time. A last line without its end was cut by a kill in the middle of a write, and is no line. */
export function* readTextLines(path: string): Generator<string> {
  const file = openSync(path, "r");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
      let from = 0;
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
        if (end > from) yield bytes.toString("utf8", from, end);
        from = end + 1;
      }
      rest = bytes.subarray(from);
    }
  } finally {
    closeSync(file);
  }
}

/** The histories of several processes as one, by time. Holds one line of each file at a time, however long the files are. */
export function* readHistory(paths: readonly string[]): Generator<Line> {
  const sources = paths.map((path) => new Source(readTextLines(path)));
  for (;;) {
    let first: Source | null = null;
    for (const source of sources) if (source.head !== null && (first === null || source.head.at < first.head!.at)) first = source;
    if (first === null) return;
    yield first.take();
  }
}

class Source {
  readonly #lines: Generator<string>;
  head: Line | null = null;

  constructor(lines: Generator<string>) {
    this.#lines = lines;
    this.#advance();
  }

  take(): Line {
    const line = this.head!;
    this.#advance();
    return line;
  }

  #advance(): void {
    const { done, value } = this.#lines.next();
    this.head = done ? null : (JSON.parse(value) as Line);
  }
}
