/** An event as a stream tells it. */
export interface Read {
  readonly id: string | null;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** A stream of events that a test reads as far as it likes. */
export class EventReading {
  readonly #chunks: ReadableStreamDefaultReader<string>;
  #text = "";
  #read: Read[] = [];
  /** The last id that was told, also without an event. */
  lastId: string | null = null;
  comments = 0;

  constructor(response: Response) {
    this.#chunks = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Reads until an event fits: all that came since the last call, it included. Fewer when the stream ended before. */
  async until(isLast: (event: Read) => boolean): Promise<Read[]> {
    for (;;) {
      const last = this.#read.findIndex(isLast);
      if (last !== -1) return this.#read.splice(0, last + 1);
      if (!(await this.step())) return this.#read.splice(0);
    }
  }

  /** Reads the next piece. False at the end. */
  async step(): Promise<boolean> {
    const { done, value } = await this.#chunks.read();
    if (done) return false;
    this.#text += value;
    const blocks = this.#text.split("\n\n");
    this.#text = blocks.pop() ?? "";
    for (const block of blocks) this.#take(block);
    return true;
  }

  async cancel(): Promise<void> {
    await this.#chunks.cancel();
  }

  #take(block: string): void {
    if (block.startsWith(":")) this.comments++;
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
    const id = field("id") ?? null;
    this.lastId = id ?? this.lastId;
    const [event, data] = [field("event"), field("data")];
    if (event !== undefined && data !== undefined) this.#read.push({ id, event, data: JSON.parse(data) as Record<string, unknown> });
  }
}
