import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { haveSameTenBits, idMaker, idMakerOf, isId, tenBitsOf } from "../../../src/lib/id.ts";

const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

describe("an id", () => {
  test("has the same ten bits as another, whatever the rest is", () => {
    const make = idMaker(() => 1);
    for (let bits = 0; bits < 1024; bits++) {
      expect(haveSameTenBits(make(bits), make(bits))).toBe(true);
      for (const other of [bits ^ 1, bits ^ 16, bits ^ 512]) expect(haveSameTenBits(make(bits), make(other))).toBe(false);
    }
  });

  test("is a UUIDv7 with the ten bits it was given and about the time it was made", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1023 }), fc.integer({ min: 1, max: 2 ** 47 }), (bits, now) => {
        const id = idMaker(() => now)(bits);
        expect(isId(id)).toBe(true);
        expect(id[14]).toBe("7");
        expect("89ab").toContain(id[19]);
        expect(tenBitsOf(id)).toBe(bits);
        expect(timeOf(id)).toBe(now);
      }),
    );
  });

  test("is greater than every one before it, whatever the clock does", () => {
    const steps = fc.array(fc.integer({ min: -10_000, max: 10_000 }), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 1023 }), (jumps, bits) => {
        let now = 1_800_000_000_000;
        const make = idMaker(() => now);
        let last = make(bits);
        for (const jump of jumps) {
          now += jump;
          const id = make((bits * 7 + jump) & 1023);
          expect(id > last).toBe(true);
          last = id;
        }
      }),
    );
  });

  test("rises over all that use one clock: clients, schedules, whoever", () => {
    const [one, other] = [idMakerOf(systemClock), idMakerOf(systemClock)];
    const ids = Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? one : other)(5));
    expect(ids.toSorted()).toEqual(ids);
  });

  test("rises through more of them than a millisecond's counter can hold", () => {
    const make = idMaker(() => 1_800_000_000_000);
    const ids = Array.from({ length: 10_000 }, () => make(5));
    expect(new Set(ids).size).toBe(10_000);
    expect(ids.toSorted()).toEqual(ids);
    expect(timeOf(ids.at(-1)!)).toBe(1_800_000_000_002);
  });

  test("takes its random bits from where it was told, and none twice", () => {
    let fills = 0;
    const make = idMaker(
      () => 1,
      (bytes) => bytes.fill(++fills),
    );
    expect(make(0).slice(24)).toBe("010101010101");
    for (let count = 0; count < 512; count++) make(0);
    expect(fills).toBe(2);
  });

  test("keeps a tag for some thousand ids of the same ten bits, and then draws another", () => {
    let drawn = 0;
    const make = idMaker(
      () => 1,
      (bytes) => bytes.forEach((_, index) => (bytes[index] = drawn++ % 251)),
    );
    const tagOf = (id: string): string => id.slice(25, 28);
    const ids = Array.from({ length: 24_000 }, (_, index) => make(index % 2));
    for (const bits of [0, 1]) {
      const tags = ids.filter((id) => tenBitsOf(id) === bits).map(tagOf);
      const runs = tags.filter((tag, index) => tag !== tags[index - 1]);
      expect(runs).toHaveLength(3);
      expect(new Set(runs).size).toBe(3);
    }
    // The other random bits are new each time.
    expect(new Set(ids.slice(0, 200).map((id) => id.slice(28))).size).toBeGreaterThan(150);
  });

  test.each<[unknown, string]>([
    ["0190d2f0-7b1a-4abc-8def-0123456789ab", "version 4"],
    ["0190d2f0-7b1a-7abc-cdef-0123456789ab", "another variant"],
    ["0190D2F0-7B1A-7ABC-8DEF-0123456789AB", "upper case"],
    ["0190d2f0-7b1a-7abc-8def-0123456789ab\n", "a line end"],
    ["", "nothing"],
    [null, "null"],
  ])("%j is not one: %s", (text) => {
    expect(isId(text)).toBe(false);
  });
});
