import { describe, expect, test } from "vitest";
import type { LeasedJob, LeaseNote } from "../../../src/client/client.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { JobNotes, NoteWriter } from "../../../src/worker/notes.ts";

const lease = { job: { id: "j1", type: "t", queue: "q" }, fence: 3 } as LeasedJob;

function takeAll(notes: JobNotes): LeaseNote[] {
  const all: LeaseNote[] = [];
  for (let note = notes.take(); note !== null; note = notes.take()) all.push(note);
  return all;
}

describe("the notes of one attempt", () => {
  test("of 100,000 progress calls the latest is written", () => {
    const notes = new JobNotes(lease);
    for (let call = 0; call < 100_000; call++) notes.progress(call / 1000, `step ${call}`);
    expect(takeAll(notes)).toEqual([
      { id: "j1", fence: 3, type: "t", queue: "q", progress: { percent: 99.999, note: "step 99999" }, lines: [] },
    ]);
  });

  test("of 100,000 lines a thousand are kept, and the last says what became of the others", () => {
    const notes = new JobNotes(lease);
    for (let line = 0; line < 100_000; line++) notes.log(`line ${line}`);
    notes.close();
    const lines = takeAll(notes).flatMap((note) => note.lines);
    expect(lines).toHaveLength(1000);
    expect(lines[998]).toBe("line 998");
    expect(lines[999]).toBe("… 99,001 more lines were dropped: a job keeps at most 1000");
  });

  test("a line is cut at 4 KiB, between characters, and well-formed", () => {
    const notes = new JobNotes(lease);
    notes.log("€".repeat(1_000_000));
    notes.log("a\ud800");
    const [note] = takeAll(notes);
    expect(note!.lines).toEqual(["€".repeat(1365), "a\ufffd"]);
  });

  test("a line that is no text is shown", () => {
    const notes = new JobNotes(lease);
    for (const line of [undefined, null, { a: 1 }, 7]) notes.log(line);
    expect(takeAll(notes)[0]!.lines).toEqual(["undefined", "null", "{ a: 1 }", "7"]);
  });

  test("progress beyond the ends is the end, and what is no number is refused", () => {
    const notes = new JobNotes(lease);
    notes.progress(100.0000001, undefined);
    expect(takeAll(notes)[0]!.progress).toEqual({ percent: 100, note: null });
    for (const percent of [Number.NaN, "50", undefined]) {
      expect(() => notes.progress(percent, undefined)).toThrow(expect.objectContaining({ code: "invalid_input", field: "percent" }));
    }
    expect(() => notes.progress(1, 2)).toThrow(expect.objectContaining({ field: "note" }));
  });

  test("what could not be written goes before what came later, and never overwrites newer progress", () => {
    const notes = new JobNotes(lease);
    notes.log("first");
    notes.progress(10, undefined);
    const note = notes.take()!;
    notes.log("second");
    notes.progress(20, undefined);
    notes.giveBack(note);
    expect(takeAll(notes)[0]).toMatchObject({ lines: ["first", "second"], progress: { percent: 20 } });
  });
});

describe("the writer of notes", () => {
  function writer(answer: (notes: readonly LeaseNote[]) => ("ok" | "stale" | "cancelled")[] = (notes) => notes.map(() => "ok")) {
    const clock = new VirtualClock(0);
    const calls: LeaseNote[][] = [];
    const gone: unknown[] = [];
    const made = new NoteWriter({
      clock,
      write: async (notes) => {
        calls.push([...notes]);
        return answer(notes);
      },
      onGone: (gonelease, why) => gone.push([gonelease.job.id, why]),
    });
    return { clock, calls, gone, writer: made };
  }

  test("writes the notes of many jobs in one call, about four times a second", async () => {
    const { clock, calls, writer: notes } = writer();
    const jobs = Array.from({ length: 10 }, () => new JobNotes(lease));
    for (let at = 0; at < 1000; at += 10) {
      for (const job of jobs) {
        job.progress(at / 10, undefined);
        notes.touch(job);
      }
      await clock.advance(10);
    }
    await clock.advance(250);
    expect(calls.length).toBeLessThanOrEqual(5);
    expect(calls.map((call) => call.length)).toEqual(calls.map(() => 10));
  });

  test("no call carries more than about 1 MiB", async () => {
    const { calls, writer: notes } = writer();
    for (let job = 0; job < 3; job++) {
      const made = new JobNotes(lease);
      for (let line = 0; line < 999; line++) made.log("x".repeat(4096));
      notes.touch(made);
    }
    await notes.write();
    expect(calls.flat().flatMap((note) => note.lines)).toHaveLength(3 * 999);
    for (const call of calls) expect(call.reduce((sum, note) => sum + note.lines.length, 0)).toBeLessThanOrEqual(512);
  });

  test("tells of leases that are gone", async () => {
    const { gone, writer: notes } = writer(() => ["cancelled"]);
    const job = new JobNotes(lease);
    job.log("hello");
    notes.touch(job);
    await notes.write();
    expect(gone).toEqual([["j1", "cancelled"]]);
  });

  test("says it again after a failure, while the job runs", async () => {
    let isAway = true;
    const {
      clock,
      calls,
      writer: notes,
    } = writer((call) => {
      if (isAway) throw new Error("away");
      return call.map(() => "ok");
    });
    const job = new JobNotes(lease);
    job.log("hello");
    notes.touch(job);
    await clock.advance(250);
    isAway = false;
    await clock.advance(250);
    expect(calls.map((call) => call[0]!.lines)).toEqual([["hello"], ["hello"]]);
    await clock.advance("10s");
    expect(calls).toHaveLength(2);
  });

  test("leaves at the first call that failed, and tries again ever more slowly: a store that is away is not stormed", async () => {
    let tries = 0;
    const { clock, writer: notes } = writer(() => {
      tries++;
      throw new Error("away");
    });
    const job = new JobNotes(lease);
    for (let line = 0; line < 900; line++) job.log(`line ${line}`);
    notes.touch(job);
    await clock.advance(250);
    expect(tries).toBe(1);
    await clock.advance("60s");
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(25);
  });

  test("loses no line and keeps their order over failures, whatever call they failed in", async () => {
    let tries = 0;
    const written: string[] = [];
    const { clock, writer: notes } = writer((call) => {
      if (++tries % 2 === 0) throw new Error("away");
      written.push(...call.flatMap((note) => note.lines));
      return call.map(() => "ok");
    });
    const jobs = ["a", "b", "c"].map((name) => {
      const job = new JobNotes(lease);
      for (let line = 0; line < 600; line++) job.log(`${name} ${line}`);
      notes.touch(job);
      return job;
    });
    await clock.advance("2m");
    expect(written).toHaveLength(1800);
    for (const name of ["a", "b", "c"]) {
      const own = written.filter((line) => line.startsWith(name));
      expect(own).toEqual(Array.from({ length: 600 }, (_, line) => `${name} ${line}`));
    }
    expect(jobs.map((job) => job.take())).toEqual([null, null, null]);
  });

  test("does not hold up the last notes of others for a job whose notes the store refuses", async () => {
    const written: string[] = [];
    const { clock, writer: notes } = writer((call) => {
      if (call.some((note) => note.lines.includes("poison"))) throw new Error("cannot read this");
      written.push(...call.flatMap((note) => note.lines));
      return call.map(() => "ok");
    });
    const poisoned = new JobNotes(lease);
    poisoned.log("poison");
    notes.touch(poisoned);
    await clock.advance("10s");
    const ended = new JobNotes(lease);
    ended.log("last line");
    ended.close();
    notes.touch(poisoned);
    notes.touch(ended);
    await notes.write();
    expect(written).toEqual(["last line"]);
  });

  test("that was stopped sets no timer again", async () => {
    let tries = 0;
    const { clock, writer: notes } = writer(() => {
      tries++;
      throw new Error("away");
    });
    const job = new JobNotes(lease);
    job.log("hello");
    notes.touch(job);
    const writing = notes.write();
    notes.stop();
    await writing;
    notes.touch(job);
    await clock.advance("1m");
    expect(tries).toBe(1);
  });
});
