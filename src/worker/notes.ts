/** NOTES OF A RUNNING HANDLER: log lines and progress, gathered for each job and written for many jobs at once. */
import type { LeasedJob, LeaseNote, LeaseAnswer } from "../client/client.ts";
import { counted } from "../core/counted.ts";
import { invalid } from "../core/errors.ts";
import { MAX_LOG_LINE_BYTES, MAX_LOG_LINES, type Progress } from "../core/job.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { describeThrown } from "./attempt-error.ts";
import { cutText } from "./cut-text.ts";

/** How long notes are gathered before they are written. */
const GATHER_MS = 250;
/** How long the completion of a job waits for notes that are being written. */
const PATIENCE_MS = 100;
const LONGEST_RETRY_MS = 5000;
/** The most lines in one note, so that a call stays near 1 MiB. */
const LINES_A_NOTE = 256;
const LINES_A_CALL = 256;
const NOTES_A_CALL = 1000;

export class JobNotes {
  readonly lease: LeasedJob;
  /** The job's row may be locked: these notes are written alone, so that others do not wait with them. */
  mayWait = false;
  #lines: string[] = [];
  #accepted = 0;
  #dropped = 0;
  #progress: Progress | null = null;
  /** Taken to be written, and not answered yet. */
  readonly #underWay = new Set<LeaseNote>();
  #closed = false;

  constructor(lease: LeasedJob) {
    this.lease = lease;
  }

  log(text: unknown): void {
    // The last line is reserved for the number of dropped lines.
    if (this.#accepted >= MAX_LOG_LINES - 1) {
      this.#dropped++;
      return;
    }
    this.#accepted++;
    const line = typeof text === "string" ? text : describeThrown(text).message;
    this.#lines.push(cutText(line, MAX_LOG_LINE_BYTES));
  }

  /** Only the latest of many is written. Values slightly out of range (rounding) become 0 or 100. */
  progress(percent: unknown, note: unknown): void {
    if (typeof percent !== "number" || Number.isNaN(percent)) throw invalid("percent", "a number from 0 to 100", percent);
    if (note !== undefined && note !== null && typeof note !== "string") throw invalid("note", "a string", note);
    this.#progress = {
      percent: Math.min(100, Math.max(0, percent)),
      note: typeof note === "string" ? cutText(note, MAX_LOG_LINE_BYTES) : null,
    };
  }

  /** The attempt has ended: adds only the number of dropped lines. */
  close(): void {
    this.#closed = true;
    this.#tellDropped();
  }

  #tellDropped(): void {
    if (this.#dropped > 0)
      this.#lines.push(`… ${counted(this.#dropped, "more line was", "more lines were")} dropped: a job keeps at most ${MAX_LOG_LINES}`);
    this.#dropped = 0;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#progress === null;
  }

  /** Takes the next note to write; null if there is nothing left. */
  take(): LeaseNote | null {
    if (this.isEmpty) return null;
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
    this.#underWay.add(note);
    return note;
  }

  /** A note that was taken is written, or never will be. */
  done(note: LeaseNote): void {
    this.#underWay.delete(note);
  }

  get isUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  /**
   * Runs `write` with all that is not written yet, for a transaction of the handler. Nobody tells us whether it is committed. So the notes are put
   * back: after a commit they are refused later, because the lease has ended; after a rollback they are written then. Notes under way are added
   * too: the transaction may be what they wait for, and after its commit they are refused. They are put back by their own write.
   */
  async within<Answer>(write: (notes: readonly LeaseNote[]) => Promise<Answer>): Promise<Answer> {
    this.#tellDropped();
    const before = [...this.#underWay];
    const taken: LeaseNote[] = [];
    for (let note = this.take(); note !== null; note = this.take()) taken.push(note);
    try {
      return await write([...before, ...taken]);
    } finally {
      for (const note of taken.toReversed()) this.giveBack(note);
    }
  }

  /** Puts back what could not be written. */
  giveBack(note: LeaseNote): void {
    this.#underWay.delete(note);
    this.#lines.unshift(...note.lines);
    this.#progress ??= note.progress;
  }
}

export interface NoteWriterOptions {
  readonly clock: Clock;
  readonly write: (notes: readonly LeaseNote[]) => Promise<LeaseAnswer[]>;
  /** The lease of a note is gone. */
  readonly onGone: (lease: LeasedJob, why: "stale" | "cancelled") => void;
}

/**
 * Writes the notes of all attempts of a worker: about four times a second, and before the report of an ended job.
 *
 * While the store is unreachable, only the first call is tried, ever more slowly; unwritten notes stay with their job. Notes of an ended job
 * are not kept: its report must not wait for its log.
 */
export class NoteWriter {
  readonly #options: NoteWriterOptions;
  #touched = new Set<JobNotes>();
  /** Notes that are written alone, with their latest write. */
  #alone = new Map<JobNotes, Promise<boolean>>();
  #timer: Timer | null = null;
  #underWay: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #failures = 0;
  #isStopped = false;

  constructor(options: NoteWriterOptions) {
    this.#options = options;
  }

  /** Call this when there is something to write. */
  touch(notes: JobNotes): void {
    this.#touched.add(notes);
    if (this.#isStopped) return;
    const delayMs = Math.min(LONGEST_RETRY_MS, GATHER_MS * 2 ** Math.max(0, this.#failures - 1));
    this.#timer ??= this.#options.clock.setTimer(() => void this.write(), delayMs);
  }

  /** Resolves when all notes so far have been written, or could not be. Calls in one tick share the write. */
  write(): Promise<void> {
    this.#next ??= this.#writeNext();
    return this.#next;
  }

  /** Resolves when these notes have been written, or could not be. No others wait with them. */
  async writeAlone(notes: JobNotes): Promise<void> {
    // Earlier writes, shared with others, come first.
    await this.#underWay;
    const before = this.#alone.get(notes);
    const written = Promise.resolve(before).then(() => this.#writeAll([notes]));
    this.#alone.set(notes, written);
    await written;
    if (this.#alone.get(notes) === written) this.#alone.delete(notes);
    if (!notes.isEmpty && !notes.isClosed) this.touch(notes);
  }

  /**
   * Resolves when no write of these notes is under way, or soon: on SQLite such a write may wait for the very transaction in which the handler
   * wants to complete its job.
   */
  async untilWritten(notes: JobNotes): Promise<void> {
    if (!notes.isUnderWay) return;
    const { promise: outOfTime, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.clock.setTimer(resolve, PATIENCE_MS);
    await Promise.race([Promise.all([this.#underWay, this.#alone.get(notes)]), outOfTime]);
    timer.cancel();
  }

  /** Stops the writes by timer. */
  stop(): void {
    this.#isStopped = true;
    this.#disarm();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** One write at a time: the last lines of a job must not overtake earlier ones. */
  async #writeNext(): Promise<void> {
    await this.#underWay;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#next = null;
    this.#disarm();
    this.#underWay = this.#writeTouched();
    await this.#underWay;
  }

  /** The last notes of ended jobs are written first and separately: their reports wait for them, and they must not fail with other notes. */
  async #writeTouched(): Promise<void> {
    const touched = [...this.#touched];
    this.#touched = new Set();
    for (const notes of touched) if (notes.mayWait && !this.#alone.has(notes)) void this.writeAlone(notes);
    const shared = touched.filter((notes) => !notes.mayWait);
    const ended = shared.filter((notes) => notes.isClosed);
    const running = shared.filter((notes) => !notes.isClosed);
    const isDone = (await this.#writeAll(ended)) && (await this.#writeAll(running));
    this.#failures = isDone ? 0 : this.#failures + 1;
    for (const notes of running) if (!notes.isEmpty) this.touch(notes);
  }

  /** Returns whether everything was written. */
  async #writeAll(all: readonly JobNotes[]): Promise<boolean> {
    let call: [JobNotes, LeaseNote][] = [];
    let lines = 0;
    for (const notes of all) {
      for (let note = notes.take(); note !== null; note = notes.take()) {
        call.push([notes, note]);
        lines += note.lines.length;
        if (call.length < NOTES_A_CALL && lines < LINES_A_CALL) continue;
        if (!(await this.#call(call))) return false;
        call = [];
        lines = 0;
      }
    }
    return call.length === 0 || this.#call(call);
  }

  async #call(call: readonly [JobNotes, LeaseNote][]): Promise<boolean> {
    try {
      const results = await this.#options.write(call.map(([, note]) => note));
      let isDone = true;
      call.forEach(([notes, note], index) => {
        const result = results[index];
        if (result === "stale" || result === "cancelled") this.#options.onGone(notes.lease, result);
        if (result !== "locked") return notes.done(note);
        notes.giveBack(note);
        isDone = false;
      });
      return isDone;
    } catch {
      // Written again later: a line may then occur twice, which is better than not at all. Put back in reverse order.
      for (const [notes, note] of call.toReversed()) notes.giveBack(note);
      return false;
    }
  }
}
