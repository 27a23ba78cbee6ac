import { remembered } from "./remembered.ts";
import { DAY_MS, HOUR_MS } from "./time-units.ts";

// Converts between instants and local times, by the stretches in which a zone's offset is constant. A local time is a number, too: the
// milliseconds at which UTC clocks would show that time.

/** A period, `start` included and `end` not, in which a zone has the same `offset` from UTC. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly offset: number;
}

// Since 1970 clocks were never more than 14 hours from UTC, nor set back by as much as a day: Apia and Kwajalein skipped one.
const LARGEST_OFFSET_MS = 16 * HOUR_MS;
const LARGEST_STEP_BACK_MS = 28 * HOUR_MS;

/** The first instant at which the zone's clocks show this local time or, if they skip it, a later one. */
export function firstInstant(zone: string, local: number): number {
  let stretch = stretchAt(zone, local - LARGEST_OFFSET_MS);
  while (stretch.end + stretch.offset <= local) stretch = stretchAt(zone, stretch.end);
  return Math.max(stretch.start, local - stretch.offset);
}

/** The latest local time that the zone's clocks have shown up to this instant: in a repeated hour, the end of the first pass. */
export function highestLocal(zone: string, at: number): number {
  let stretch = stretchAt(zone, at - LARGEST_STEP_BACK_MS);
  let highest = stretch.start + stretch.offset;
  for (;;) {
    highest = Math.max(highest, Math.min(stretch.end - 1, at) + stretch.offset);
    if (stretch.end > at) return highest;
    stretch = stretchAt(zone, stretch.end);
  }
}

// Intl takes microseconds, so stretches are made and kept for a span of time at once. A stretch that crosses the end of its span is cut there;
// two neighbours with the same offset do no harm. Offsets are sampled: since 1970 no zone undid a change within less than 7 days (Recife,
// 2000).
const SPAN_MS = 120 * DAY_MS;
const SAMPLE_MS = 3 * DAY_MS;

const spans = new Map<string, readonly Stretch[]>();
const formats = new Map<string, Intl.DateTimeFormat>();
const SPANS_KEPT = 2_000;
const FORMATS_KEPT = 100;

export function stretchAt(zone: string, at: number): Stretch {
  const index = Math.floor(at / SPAN_MS);
  const stretches = remembered(spans, SPANS_KEPT, `${index} ${zone}`, () => createStretches(zone, index * SPAN_MS, (index + 1) * SPAN_MS));
  const found = stretches.findLast(({ start }) => start <= at);
  if (found === undefined) throw new Error(`no stretch of ${zone} holds ${at}`);
  return found;
}

function createStretches(zone: string, start: number, end: number): readonly Stretch[] {
  const offsetAt = offsetReader(zone);
  const sample = (at: number): Sample => ({ at, offset: offsetAt(at) });
  const starts = [sample(start)];
  for (let from = sample(start); from.at < end;) {
    const to = sample(Math.min(from.at + SAMPLE_MS, end));
    addChanges(sample, from, to, starts);
    from = to;
  }
  const inside = starts.filter(({ at }) => at < end);
  return inside.map(({ at, offset }, index) => ({ start: at, end: inside[index + 1]?.at ?? end, offset }));
}

interface Sample {
  readonly at: number;
  readonly offset: number;
}

/** Halves the time between two different samples until the second of the change is known. Each half may have a change. */
function addChanges(sample: (at: number) => Sample, from: Sample, to: Sample, found: Sample[]): void {
  if (from.offset === to.offset) return;
  if (to.at - from.at <= 1_000) {
    found.push(to);
    return;
  }
  const middle = sample(from.at + Math.floor((to.at - from.at) / 2_000) * 1_000);
  addChanges(sample, from, middle, found);
  addChanges(sample, middle, to, found);
}

// The longest text of Intl is "1/1/1970, GMT-00:44:30"; UTC is "1/1/1970, GMT".
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

function offsetReader(zone: string): (at: number) => number {
  const format = remembered(formats, FORMATS_KEPT, zone, () => offsetFormat(zone));
  return (at) => {
    const match = OFFSET.exec(format.format(at));
    if (match === null) throw new Error(`Intl gives no offset for ${zone} at ${at}`);
    const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
    const size = Number(hours) * HOUR_MS + Number(minutes) * 60_000 + Number(seconds) * 1_000;
    return sign === "-" ? -size : size;
  };
}

/** @throws RangeError if Intl does not know the zone */
function offsetFormat(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
}

export const MAX_ZONE_LENGTH = 64;

export function isTimeZone(name: string): boolean {
  // Intl also accepts offsets such as +01:00, which are not names.
  if (name.length > MAX_ZONE_LENGTH || !/^[A-Za-z]/.test(name)) return false;
  try {
    return offsetFormat(name) !== undefined;
  } catch {
    return false;
  }
}
