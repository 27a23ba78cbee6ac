/** WHAT A HANDLER SAYS WHILE IT RUNS: log lines and progress, gathered for each job and written for many at once. */
import type { LeasedJob, LeaseNote, LeaseResult } from "../client/client.ts";
import { invalid } from "../core/errors.ts";
import { MAX_LOG_LINE_BYTES, MAX_LOG_LINES, type Progress } from "../core/job.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { describeThrown } from "./attempt-error.ts";
import { cutText } from "./cut-text.ts";

/** How long notes are gathered before they are written. */
const GATHER_MS = 250;
/** One note carries at most so many lines, so that a call stays near 1 MiB. */
const LINES_A_NOTE = 256;
const LINES_A_CALL = 256;
const NOTES_A_CALL = 1000;

/** The notes of one attempt. */
export class JobNotes {
  readonly lease: LeasedJob;
  #lines: string[] = [];
  #accepted = 0;
  #dropped = 0;
  #progress: Progress | null = null;
  #closed = false;

  constructor(lease: LeasedJob) {
    this.lease = lease;
  }

  log(text: unknown): void {
    // The last line is kept for saying how many were dropped.
    if (this.#accepted >= MAX_LOG_LINES - 1) {
      this.#dropped++;
      return;
    }
    this.#accepted++;
    const line = typeof text === "string" ? text : describeThrown(text).message;
    this.#lines.push(cutText(line, MAX_LOG_LINE_BYTES));
  }

  /** Only the latest of many is written. A little beyond the ends (rounding) is taken as the end. */
  progress(percent: unknown, note: unknown): void {
    if (typeof percent !== "number" || Number.isNaN(percent)) throw invalid("percent", "a number from 0 to 100", percent);
    if (note !== undefined && note !== null && typeof note !== "string") throw invalid("note", "a text", note);
    this.#progress = {
      percent: Math.min(100, Math.max(0, percent)),
      note: typeof note === "string" ? cutText(note, MAX_LOG_LINE_BYTES) : null,
    };
  }

  /** The attempt has ended: nothing is added any more but the number of what was dropped. */
  close(): void {
    this.#closed = true;
    if (this.#dropped > 0) this.#lines.push(`… ${this.#dropped} more lines were dropped: a job keeps ${MAX_LOG_LINES}`);
    this.#dropped = 0;
  }

  /** Takes out what is to be written; null when there is nothing (more). */
  take(): LeaseNote | null {
    if (this.#lines.length === 0 && this.#progress === null) return null;
    const { job, fence } = this.lease;
    const note = {
      id: job.id,
      fence,
      type: job.type,
      queue: job.queue,
      progress: this.#progress,
      lines: this.#lines.splice(0, LINES_A_NOTE),
    };
    this.#progress = null;
    return note;
  }

  /** Puts back what could not be written. Of a job that has ended nothing is kept: its report must not wait for its log. */
  giveBack(note: LeaseNote): boolean {
    if (this.#closed) return false;
    this.#lines.unshift(...note.lines);
    this.#progress ??= note.progress;
    return true;
  }
}

export interface NoteWriterOptions {
  readonly clock: Clock;
  readonly write: (notes: readonly LeaseNote[]) => Promise<LeaseResult[]>;
  /** The lease of a note is gone. */
  readonly onGone: (lease: LeasedJob, why: "stale" | "cancelled") => void;
}

/** Writes the notes of all attempts of a worker: about four times a second, and before the report of a job that has ended. */
export class NoteWriter {
  readonly #options: NoteWriterOptions;
  #touched = new Set<JobNotes>();
  #timer: Timer | null = null;
  #underWay: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(options: NoteWriterOptions) {
    this.#options = options;
  }

  /** There is something to write. */
  touch(notes: JobNotes): void {
    this.#touched.add(notes);
    this.#timer ??= this.#options.clock.setTimer(() => void this.write(), GATHER_MS);
  }

  /** Resolves when all that was noted before has been written, or could not be. Calls of one tick share the write. */
  write(): Promise<void> {
    this.#next ??= this.#writeNext();
    return this.#next;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** One write at a time: a job's last lines must not overtake those before. */
  async #writeNext(): Promise<void> {
    await this.#underWay;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#next = null;
    this.stop();
    this.#underWay = this.#writeTouched();
    await this.#underWay;
  }

  async #writeTouched(): Promise<void> {
    const touched = this.#touched;
    this.#touched = new Set();
    let call: [JobNotes, LeaseNote][] = [];
    let lines = 0;
    for (const notes of touched) {
      for (let note = notes.take(); note !== null; note = notes.take()) {
        call.push([notes, note]);
        lines += note.lines.length;
        if (call.length < NOTES_A_CALL && lines < LINES_A_CALL) continue;
        await this.#call(call);
        call = [];
        lines = 0;
      }
    }
    if (call.length > 0) await this.#call(call);
  }

  async #call(call: readonly [JobNotes, LeaseNote][]): Promise<void> {
    try {
      const results = await this.#options.write(call.map(([, note]) => note));
      call.forEach(([notes], index) => {
        const result = results[index];
        if (result === "stale" || result === "cancelled") this.#options.onGone(notes.lease, result);
      });
    } catch {
      // The store is away. Whoever is still running says it again later; a line may then be there twice, which is better than not at all.
      for (const [notes, note] of call) if (notes.giveBack(note)) this.touch(notes);
    }
  }
}
