/** How many ids of the same ten bits have the same tag. */
const IDS_PER_TAG = 4000;

/** The tags of one maker of ids, each for some ids of the same ten bits: id.ts says what they are for. It also runs in browsers. */
export class IdTags {
  readonly #tags = new Uint16Array(1024);
  readonly #left = new Uint16Array(1024);

  /** The tag of the next id: twelve bits. If it needs a new one, these random bits are it. */
  next(tenBits: number, random: number): number {
    const bits = tenBits & 0x3ff;
    if (this.#left[bits] === 0) {
      this.#left[bits] = IDS_PER_TAG;
      this.#tags[bits] = random & 0xfff;
    }
    this.#left[bits]!--;
    return this.#tags[bits]!;
  }
}
