import { randomBytes } from "node:crypto";
import type { Event } from "../../core/event.ts";
import { toEventWire } from "../wire/event.ts";

/** An event as it is sent. Its text is made once for all readers. */
export interface Frame {
  readonly id: string;
  readonly event: Event["event"];
  /** JSON. */
  readonly data: string;
}

/** How much is kept for readers that are slow, or come back. */
export interface RingBounds {
  readonly events: number;
  readonly chars: number;
}

const BOUNDS: RingBounds = { events: 10_000, chars: 16 * 1024 * 1024 };
const ID = /^([0-9a-f]{12})-(\d{1,15})$/;

/**
 * The last events of one broadcast, numbered from 1. An id is a random prefix and a number, so that an id of another process, or of an
 * earlier broadcast, is not mistaken for one of these.
 */
export class Ring {
  readonly #prefix = randomBytes(6).toString("hex");
  readonly #bounds: RingBounds;
  readonly #frames: (Frame | undefined)[] = [];
  #first = 1;
  #end = 1;
  #chars = 0;

  constructor(bounds: RingBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The number that the next event will have. */
  get end(): number {
    return this.#end;
  }

  /** How much is kept now. */
  get size(): RingBounds {
    return { events: this.#end - this.#first, chars: this.#chars };
  }

  append(event: Event): void {
    const frame = this.frameOf(event, this.#end);
    while (this.#first < this.#end && this.#isFullFor(frame)) this.#dropFirst();
    this.#frames[this.#end % this.#bounds.events] = frame;
    this.#chars += frame.data.length;
    this.#end++;
  }

  /** An event that is kept. */
  at(number: number): Frame {
    return this.#frames[number % this.#bounds.events]!;
  }

  /** An event with this number; it is not kept. */
  frameOf(event: Event, number: number): Frame {
    const id = this.idOf(number);
    return { id, event: event.event, data: JSON.stringify(toEventWire(event, id)) };
  }

  idOf(number: number): string {
    return `${this.#prefix}-${number}`;
  }

  /** The number of an event of this ring, even if it was dropped since; null for any other id. */
  numberOf(id: string): number | null {
    const [, prefix, number] = ID.exec(id) ?? [];
    return prefix === this.#prefix && Number(number) < this.#end ? Number(number) : null;
  }

  #isFullFor(frame: Frame): boolean {
    return this.#end - this.#first >= this.#bounds.events || this.#chars + frame.data.length > this.#bounds.chars;
  }

  #dropFirst(): void {
    const place = this.#first++ % this.#bounds.events;
    this.#chars -= this.#frames[place]!.data.length;
    // Cleared at once: if it stayed until it is overwritten, the limit on characters would not hold.
    this.#frames[place] = undefined;
  }
}
