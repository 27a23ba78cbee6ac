/** WHAT THIS PROCESS COUNTS, by the values of labels. The caller must make sure that there are few of them. */
import type { HistogramFamily, HistogramSample, Labels, PlainFamily } from "./exposition.ts";

/** The name of a figure, its meaning, and its labels. */
export interface FigureHead {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export class Counter {
  readonly #head: FigureHead;
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** Without labels it starts at zero. With labels the `known` values do, because a rate needs a start. */
  constructor(head: FigureHead, known: readonly (readonly string[])[] = head.labels === undefined ? [[]] : []) {
    this.#head = head;
    for (const values of known) this.add(0, ...values);
  }

  add(count: number, ...values: readonly string[]): void {
    const key = keyOf(values);
    const sample = this.#counts.get(key);
    if (sample === undefined) this.#counts.set(key, { labels: labelsOf(this.#head, values), value: count });
    else sample.value += count;
  }

  family(): PlainFamily {
    return { name: this.#head.name, help: this.#head.help, type: "counter", samples: [...this.#counts.values()] };
  }
}

/** Counts durations, or other sizes, by how large they are. */
export class Histogram {
  readonly #head: FigureHead;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  /** `bounds` must rise. */
  constructor(head: FigureHead, bounds: readonly number[]) {
    this.#head = head;
    this.#bounds = bounds;
  }

  observe(size: number, ...values: readonly string[]): void {
    const key = keyOf(values);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels: labelsOf(this.#head, values), counts: this.#bounds.map(() => 0), count: 0, sum: 0 };
      this.#series.set(key, series);
    }
    const bucket = this.#bounds.findIndex((bound) => size <= bound);
    if (bucket >= 0) series.counts[bucket]!++;
    series.count++;
    series.sum += size;
  }

  family(): HistogramFamily {
    return {
      name: this.#head.name,
      help: this.#head.help,
      type: "histogram",
      samples: Array.from(this.#series.values(), (each) => this.#sample(each)),
    };
  }

  #sample({ labels, counts, sum, count }: Series): HistogramSample {
    let below = 0;
    const buckets = this.#bounds.map((le, index) => ({ le, count: (below += counts[index]!) }));
    return { labels, buckets, sum, count };
  }
}

interface Series {
  readonly labels: Labels;
  readonly counts: number[];
  count: number;
  sum: number;
}

/** Most figures have at most one label, and then nothing has to be joined. */
function keyOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : values.join("\u0000");
}

function labelsOf({ labels = [] }: FigureHead, values: readonly string[]): Labels {
  return Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""]));
}
