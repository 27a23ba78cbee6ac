import { appendFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTextLines } from "./read-history.ts";
import { type Chapter, emptyStory, type JobStory } from "./story.ts";

/** So many entries are kept in memory; a longer history goes to files, a part of the jobs in each. */
const MOST_IN_MEMORY = 400_000;
const FILES = 64;
const BUFFERED = 2_000;

type Entry<C extends Chapter> = JobStory[C][number];

/** What is told of jobs comes in by time and goes out by job. */
export class Shelf {
  readonly #mostInMemory: number;
  readonly #stories = new Map<string, JobStory>();
  #entries = 0;
  #folder: string | null = null;
  readonly #buffers: string[][] = Array.from({ length: FILES }, () => []);

  constructor(mostInMemory: number = MOST_IN_MEMORY) {
    this.#mostInMemory = mostInMemory;
  }

  put<C extends Chapter>(job: string, chapter: C, entry: Entry<C>): void {
    if (this.#folder !== null) return this.#append(job, chapter, entry);
    putInto(this.#stories, job, chapter, entry);
    if (++this.#entries > this.#mostInMemory) this.#moveToFiles();
  }

  /** Each job once. Of a long history only the jobs of one file are in memory at a time. */
  *stories(): Generator<JobStory> {
    if (this.#folder === null) return yield* this.#stories.values();
    for (let file = 0; file < FILES; file++) {
      this.#flush(file);
      yield* this.#readStories(file).values();
    }
  }

  dispose(): void {
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
  }

  #moveToFiles(): void {
    this.#folder = mkdtempSync(join(tmpdir(), "millrace-history-"));
    for (const { id, ...chapters } of this.#stories.values()) {
      for (const [chapter, entries] of Object.entries(chapters)) {
        for (const entry of entries) this.#append(id, chapter as Chapter, entry);
      }
    }
    this.#stories.clear();
  }

  #append(job: string, chapter: Chapter, entry: unknown): void {
    const file = fileOf(job);
    const buffer = this.#buffers[file]!;
    buffer.push(JSON.stringify([job, chapter, entry]));
    if (buffer.length >= BUFFERED) this.#flush(file);
  }

  #flush(file: number): void {
    const lines = this.#buffers[file]!.splice(0);
    if (lines.length > 0) appendFileSync(this.#pathOf(file), `${lines.join("\n")}\n`);
  }

  #readStories(file: number): Map<string, JobStory> {
    const stories = new Map<string, JobStory>();
    if (!existsSync(this.#pathOf(file))) return stories;
    for (const line of readTextLines(this.#pathOf(file))) {
      const [job, chapter, entry] = JSON.parse(line) as [string, Chapter, never];
      putInto(stories, job, chapter, entry);
    }
    return stories;
  }

  #pathOf(file: number): string {
    return join(this.#folder!, `${file}.jsonl`);
  }
}

function putInto<C extends Chapter>(stories: Map<string, JobStory>, job: string, chapter: C, entry: Entry<C>): void {
  let story = stories.get(job);
  if (story === undefined) stories.set(job, (story = emptyStory(job)));
  (story[chapter] as Entry<C>[]).push(entry);
}

function fileOf(job: string): number {
  let hash = 0;
  for (let index = 0; index < job.length; index++) hash = (hash * 31 + job.charCodeAt(index)) >>> 0;
  return hash % FILES;
}
