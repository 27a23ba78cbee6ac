/** THE FORMAT OF METRICS: families of samples, as text for Prometheus, or as JSON with the same content. */

export type Family = PlainFamily | HistogramFamily;

export interface PlainFamily extends FamilyHead {
  /** A counter only grows, except after a restart; a gauge can also fall. */
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
  /** How many were at most `le`, in rising order of `le`; `count` has all of them. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

export function gauge(name: string, help: string, samples: readonly PlainSample[]): PlainFamily {
  return { name, help, type: "gauge", samples };
}

export function counter(name: string, help: string, samples: readonly PlainSample[]): PlainFamily {
  return { name, help, type: "counter", samples };
}

export function plain(value: number, labels: Labels = {}): PlainSample {
  return { labels, value };
}

export const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Text for Prometheus. A family without samples still has its head, so that you see that it exists. */
export function toText(families: readonly Family[]): string {
  return families.map(familyText).join("");
}

/** The same as JSON. */
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
