import { randomBytes } from "node:crypto";
import type { Event } from "../../core/event.ts";
import { toEventWire } from "../wire/event.ts";

/** An event as it is told. Its text is made once, for all who read. */
export interface Frame {
  readonly id: string;
  readonly event: Event["event"];
  /** JSON. */
  readonly data: string;
}

/** How much is kept for those who are slow, or come back. */
export interface RingBounds {
  readonly events: number;
  readonly chars: number;
}

const BOUNDS: RingBounds = { events: 10_000, chars: 16 * 1024 * 1024 };
const ID = /^([0-9a-f]{12})-(\d{1,15})$/;

/**
 * The last events of one life of the hub, numbered from 1. An id is the life's random name and a number: so one that another process gave, or
 * this one in an earlier life, is not taken for one of these.
 */
export class Ring {
  readonly #life = randomBytes(6).toString("hex");
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

  /** One that is kept. */
  at(number: number): Frame {
    return this.#frames[number % this.#bounds.events]!;
  }

  /** An event at this number, without keeping it. */
  frameOf(event: Event, number: number): Frame {
    const id = this.idOf(number);
    return { id, event: event.event, data: JSON.stringify(toEventWire(event, id)) };
  }

  idOf(number: number): string {
    return `${this.#life}-${number}`;
  }

  /** The number of an event of this life, which may have been dropped meanwhile; null for any other id. */
  numberOf(id: string): number | null {
    const [, life, number] = ID.exec(id) ?? [];
    return life === this.#life && Number(number) < this.#end ? Number(number) : null;
  }

  #isFullFor(frame: Frame): boolean {
    return this.#end - this.#first >= this.#bounds.events || this.#chars + frame.data.length > this.#bounds.chars;
  }

  #dropFirst(): void {
    const place = this.#first++ % this.#bounds.events;
    this.#chars -= this.#frames[place]!.data.length;
    // Not left until it is overwritten: then it is not the characters that are bounded.
    this.#frames[place] = undefined;
  }
}
