/** HOW FIGURES ARE WRITTEN: families of samples, as the text that Prometheus reads, or as JSON with the same content. */

/** A figure with its name, its meaning and its samples. */
export type Family = PlainFamily | HistogramFamily;

export interface PlainFamily extends FamilyHead {
  /** A counter only rises, but for a restart; a gauge goes both ways. */
  readonly type: "counter" | "gauge";
  readonly samples: readonly PlainSample[];
}

export interface HistogramFamily extends FamilyHead {
  readonly type: "histogram";
  readonly samples: readonly HistogramSample[];
}

interface FamilyHead {
  readonly name: string;
  readonly help: string;
}

export type Labels = Readonly<Record<string, string>>;

export interface PlainSample {
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  /** How many were at most `le`, from the smallest `le` on; all of them are in `count`. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** The media type of the text. */
export const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text that Prometheus reads. A family without samples is told by its head alone, so that one sees that it exists. */
export function toText(families: readonly Family[]): string {
  return families.map(familyText).join("");
}

/** The same for programs that would rather read JSON. */
export function toJson(families: readonly Family[]): { readonly metrics: readonly Family[] } {
  return { metrics: families };
}

function familyText(family: Family): string {
  const { name, help, type } = family;
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  const lines =
    family.type === "histogram"
      ? family.samples.flatMap((sample) => histogramLines(name, sample))
      : family.samples.map(({ labels, value }) => line(name, labels, value));
  return head + lines.join("");
}

function histogramLines(name: string, { labels, buckets, sum, count }: HistogramSample): string[] {
  return [
    ...buckets.map((bucket) => line(`${name}_bucket`, { ...labels, le: numberText(bucket.le) }, bucket.count)),
    line(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}\n`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
