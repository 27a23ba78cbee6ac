import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import { Reader } from "../../../src/http/live/reader.ts";
import { type Frame, Ring } from "../../../src/http/live/ring.ts";

function event(number: number, error = ""): Event {
  return { event: "job:dead", at: 0, jobId: String(number), type: "t", queue: "q", error };
}

function filled(count: number, bounds = { events: 100, chars: 1_000_000 }): Ring {
  const ring = new Ring(bounds);
  for (let number = 1; number <= count; number++) ring.append(event(number));
  return ring;
}

function open(ring: Ring, lastId: string | null): Reader {
  return new Reader({ ring, lastId, now: () => 0, onClose: () => {} });
}

/** What a frame tells, shortly. */
function told(frames: readonly Frame[] | null): unknown[] | undefined {
  return frames?.map(({ event: name, data }) => {
    const { job_id, missed } = JSON.parse(data) as Record<string, unknown>;
    return name === "gap" ? `gap of ${String(missed)}` : Number(job_id);
  });
}

describe("the ring", () => {
  test("keeps the last so many events", () => {
    const ring = filled(250);
    expect([ring.first, ring.end, ring.size.events]).toEqual([151, 251, 100]);
    expect(told([ring.at(151), ring.at(250)])).toEqual([151, 250]);
  });

  test("keeps no more text than it may, however long events are", () => {
    const ring = new Ring({ events: 100, chars: 10_000 });
    for (let number = 1; number <= 50; number++) ring.append(event(number, "x".repeat(900)));
    expect(ring.size.chars).toBeLessThanOrEqual(10_000);
    expect(ring.size.events).toBeGreaterThan(5);
    // What was dropped is let go of, not only left out of the sum.
    expect(ring.at(ring.first - 1)).toBeUndefined();
    expect(told([ring.at(ring.end - 1)])).toEqual([50]);
  });

  test("knows its own ids only", () => {
    const ring = filled(3);
    expect(ring.numberOf(ring.idOf(2))).toBe(2);
    for (const id of [filled(3).idOf(2), ring.idOf(4), "", "2", "-2", `${ring.idOf(2)}0000000000000000`])
      expect(ring.numberOf(id)).toBe(null);
  });
});

describe("a reader", () => {
  test("begins with what comes, and goes on after an event that it had", async () => {
    const ring = filled(5);
    const fromNow = open(ring, null);
    const back = open(ring, ring.idOf(3));
    ring.append(event(6));
    expect(told(await fromNow.next())).toEqual([6]);
    expect(told(await back.next())).toEqual([4, 5, 6]);
    expect(fromNow.position).toBe(ring.idOf(6));
  });

  test("is told of a gap first when nobody knows what it had", async () => {
    const ring = filled(5);
    const reader = open(ring, filled(9).idOf(3));
    expect(told(await reader.next())).toEqual(["gap of 0"]);
    ring.append(event(6));
    expect(told(await reader.next())).toEqual([6]);
  });

  test("that was too slow is told how many it missed, and can go on from there", async () => {
    const ring = filled(1);
    const reader = open(ring, null);
    for (let number = 2; number <= 151; number++) ring.append(event(number));
    const frames = await reader.next();
    expect(told(frames)!.slice(0, 2)).toEqual(["gap of 50", 52]);
    expect(ring.numberOf(frames![0]!.id)).toBe(51);
    expect(told(frames)!.at(-1)).toBe(151);
  });

  test("is handed no more at once than a write should have", async () => {
    const ring = new Ring({ events: 100, chars: 1_000_000 });
    const reader = open(ring, null);
    for (let number = 1; number <= 20; number++) ring.append(event(number, "x".repeat(10_000)));
    const sizes: number[] = [];
    for (let seen = 0; seen < 20;) {
      const frames = (await reader.next())!;
      seen += frames.length;
      sizes.push(frames.reduce((sum, { data }) => sum + data.length, 0));
    }
    expect(Math.max(...sizes)).toBeLessThan(64 * 1024 + 11_000);
    expect(sizes.length).toBeGreaterThan(2);
  });

  test("waits for what comes, and ends when it is closed", async () => {
    const ring = filled(0);
    const reader = open(ring, null);
    const waiting = reader.next();
    reader.wake();
    ring.append(event(1));
    reader.wake();
    expect(told(await waiting)).toEqual([1]);
    const ended = reader.next();
    reader.close();
    expect(await ended).toBe(null);
  });
});
