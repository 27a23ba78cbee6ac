/**
 * Reads the text format of Prometheus as strictly as its own tools do, and more: what `promtool check metrics` would complain about throws
 * here.
 */
export interface ReadFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ReadSample[];
}

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-z][a-z0-9_]*$/;
const SAMPLE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/s;
const LABEL = /([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

export function readPrometheusText(text: string): Map<string, ReadFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, ReadFamily>();
  const seen = new Set<string>();
  let family: ReadFamily | null = null;
  let help: { name: string; text: string } | null = null;
  for (const line of text.slice(0, -1).split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      if (help !== null || families.has(name)) throw new Error(`a second HELP: ${line}`);
      help = { name, text: rest };
    } else if (keyword === "TYPE") {
      if (help?.name !== name) throw new Error(`TYPE without its HELP before it: ${line}`);
      family = { name, type: rest, help: help.text, samples: [] };
      checkHead(family);
      families.set(name, family);
      help = null;
    } else {
      const sample = readSample(line);
      if (help !== null || family === null || !belongs(sample, family)) throw new Error(`a sample outside of its family: ${line}`);
      const series = sample.name + seriesOf(sample.labels);
      if (seen.has(series)) throw new Error(`the same series twice: ${line}`);
      seen.add(series);
      family.samples.push(sample);
    }
  }
  if (help !== null) throw new Error(`HELP at the end: ${help.name}`);
  for (const each of families.values()) if (each.type === "histogram") checkHistogram(each);
  return families;
}

function readSample(line: string): ReadSample {
  const match = SAMPLE.exec(line);
  if (match === null) throw new Error(`not a sample: ${line}`);
  const [, name = "", labelText = "", valueText = ""] = match;
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labelText.length) {
    const label = LABEL.exec(labelText);
    if (label === null) throw new Error(`labels cannot be read: ${line}`);
    const [, key = "", value = ""] = label;
    if (key in labels) throw new Error(`a label twice: ${line}`);
    labels[key] = value.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
  }
  const value = valueText === "+Inf" ? Infinity : Number(valueText);
  if (valueText === "" || Number.isNaN(value)) throw new Error(`not a number: ${line}`);
  return { name, labels, value };
}

function belongs({ name }: ReadSample, family: ReadFamily): boolean {
  if (family.type !== "histogram") return name === family.name;
  return ["_bucket", "_sum", "_count"].some((suffix) => name === family.name + suffix);
}

function checkHead({ name, type, help }: ReadFamily): void {
  if (!NAME.test(name) || name.includes("__")) throw new Error(`not a good name: ${name}`);
  if (!["counter", "gauge", "histogram"].includes(type)) throw new Error(`not a type: ${type}`);
  if ((type === "counter") !== name.endsWith("_total")) throw new Error(`${name} is a ${type}`);
  if (/_(bucket|sum|count)$/.test(name)) throw new Error(`${name} ends like a part of a histogram`);
  if (/_(milliseconds|ms|minutes|hours|kilobytes|percent)(_|$)/.test(name)) throw new Error(`${name} is not in a base unit`);
  if (/counter|gauge|histogram/.test(name)) throw new Error(`${name} says its own type`);
  if (!/^[A-Z].*\.$/.test(help)) throw new Error(`the help of ${name} is no sentence`);
}

/** Buckets rise to +Inf, which is the count; and each series has all of its parts. */
function checkHistogram({ name, samples }: ReadFamily): void {
  const series = Map.groupBy(samples, ({ labels }) => seriesOf({ ...labels, le: "" }));
  for (const [labels, parts] of series) {
    const of = (suffix: string): ReadSample[] => parts.filter((part) => part.name === name + suffix);
    const bounds = of("_bucket").map((bucket) => (bucket.labels["le"] === "+Inf" ? Infinity : Number(bucket.labels["le"])));
    const counts = of("_bucket").map((bucket) => bucket.value);
    if (bounds.at(-1) !== Infinity || !rises(bounds, true) || !rises(counts, false))
      throw new Error(`buckets of ${name}${labels} do not rise`);
    if (of("_sum").length !== 1 || of("_count").length !== 1) throw new Error(`${name}${labels} lacks its sum or count`);
    if (of("_count")[0]!.value !== counts.at(-1)) throw new Error(`the count of ${name}${labels} is not that of its last bucket`);
  }
}

function rises(numbers: readonly number[], strictly: boolean): boolean {
  return numbers.every((number, index) => index === 0 || (strictly ? number > numbers[index - 1]! : number >= numbers[index - 1]!));
}

/** The value of one series; undefined when there is none. */
export function valueOf(families: Map<string, ReadFamily>, name: string, labels: Record<string, string> = {}): number | undefined {
  const wanted = seriesOf(labels);
  for (const { samples } of families.values()) {
    for (const sample of samples) {
      if (sample.name === name && seriesOf(sample.labels) === wanted) return sample.value;
    }
  }
  return undefined;
}

function seriesOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
