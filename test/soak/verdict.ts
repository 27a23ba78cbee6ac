/**
 * WHETHER WHAT WAS MEASURED STAYS FLAT. The first minutes are for what fills up once: caches, pools, tables up to their retention. Of the samples
 * after them, the median of the later half is held against that of the earlier half: a spike, or a sample that met a prune half way, moves
 * neither. What grows by more than the slack of its gauge, and by more than a twentieth, is not flat.
 */

const MB = 1024 * 1024;
const WARM_UP_MINUTES = 5;
/** Of a run that is too short for that. */
const WARM_UP_SHARE = 0.4;
const SHARE = 0.05;
const LEAST_SAMPLES = 4;

/** What is measured, how it is shown, and what it may grow by; null: it is shown, and not judged. */
export const GAUGES = {
  "server heap": { unit: MB, digits: 1, slack: 1.5 * MB },
  "worker heap": { unit: MB, digits: 1, slack: 1.5 * MB },
  // Without need the system takes no memory back, so this says little by itself.
  "server RSS": { unit: MB, digits: 0, slack: null },
  "worker RSS": { unit: MB, digits: 0, slack: null },
  "server descriptors": { unit: 1, digits: 0, slack: 4 },
  "worker descriptors": { unit: 1, digits: 0, slack: 4 },
  "server handles": { unit: 1, digits: 0, slack: 8 },
  "worker handles": { unit: 1, digits: 0, slack: 8 },
  "rows in the store": { unit: 1, digits: 0, slack: 500 },
  "size of the store": { unit: MB, digits: 1, slack: 2 * MB },
} as const;

export type Gauge = keyof typeof GAUGES;
export const GAUGE_NAMES = Object.keys(GAUGES) as readonly Gauge[];

/** What was measured at one time. A gauge that the system does not have is left out. */
export interface Sample {
  readonly minute: number;
  readonly held: Readonly<Partial<Record<Gauge, number>>>;
}

/** What is not flat, in words; empty when everything is. */
export function judge(samples: readonly Sample[]): string[] {
  const minutes = samples.at(-1)?.minute ?? 0;
  const warmUp = Math.min(WARM_UP_MINUTES, minutes * WARM_UP_SHARE);
  const judged = samples.filter(({ minute }) => minute > warmUp);
  if (judged.length < LEAST_SAMPLES) return [`only ${judged.length} samples after the first ${show(warmUp, 1)} minutes: run it for longer`];
  return GAUGE_NAMES.flatMap((gauge) => judgeGauge(gauge, judged));
}

function judgeGauge(gauge: Gauge, samples: readonly Sample[]): string[] {
  const { slack, unit, digits } = GAUGES[gauge];
  const values = samples.flatMap(({ held }) => held[gauge] ?? []);
  if (slack === null || values.length === 0) return [];
  const half = Math.floor(values.length / 2);
  const [earlier, later] = [median(values.slice(0, half)), median(values.slice(half))];
  if (later - earlier <= Math.max(slack, earlier * SHARE)) return [];
  return [`${gauge}: ${show(earlier / unit, digits)} in the earlier half, ${show(later / unit, digits)} in the later one`];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The samples as a table in Markdown. */
export function tableOf(samples: readonly Sample[]): string {
  const gauges = GAUGE_NAMES.filter((gauge) => samples.some(({ held }) => held[gauge] !== undefined));
  const heads = ["minute", ...gauges.map((gauge) => (GAUGES[gauge].unit === MB ? `${gauge}, MB` : gauge))];
  const rows = samples.map(({ minute, held }) => [
    show(minute, minute % 1 === 0 ? 0 : 1),
    ...gauges.map((gauge) => shownOf(gauge, held[gauge])),
  ]);
  const lines = [heads, heads.map(() => "---:"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function shownOf(gauge: Gauge, value: number | undefined): string {
  return value === undefined ? "" : show(value / GAUGES[gauge].unit, GAUGES[gauge].digits);
}

function show(value: number, digits: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
