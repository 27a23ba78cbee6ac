/** Limits and their use, for people. */
import type { KeyLimitOptions, KeyLimitsEntry, KeyLimitUse, OneKeyLimitOptions, QueueInfo, QueueLimitUse } from "../client/client.ts";
import { count } from "../core/counted.ts";
import { NOTHING, took } from "./figures.ts";
import type { Output } from "./output.ts";
import type { Column } from "./table.ts";

/** "running 2, rate 5/s with a burst of 10, waiting 10,000"; a limit that there is not is left out. */
export function limitsInWords({ running, rate, burst, waiting }: KeyLimitOptions): string {
  const words = [
    ...(running === null || running === undefined ? [] : [`running ${count(running)}`]),
    ...(rate === null || rate === undefined ? [] : [`rate ${rateInWords({ rate, burst })}`]),
    ...(waiting === null || waiting === undefined ? [] : [`waiting ${count(waiting)}`]),
  ];
  return words.join(", ") || NOTHING;
}

function rateInWords({ rate, burst = 1 }: Pick<KeyLimitOptions, "rate" | "burst">): string {
  if (rate === undefined) return "";
  if (rate === null) return "none";
  return burst === 1 ? rate : `${rate}, burst ${count(burst)}`;
}

/** Queues with limits. */
export const QUEUE_COLUMNS: readonly Column<QueueInfo>[] = [
  { title: "QUEUE", text: ({ name }) => name, shrinks: "middle", atLeast: 10 },
  { title: "RUNNING", text: ({ counts, limits }) => ofLimit(counts.running, limits?.running), align: "right" },
  { title: "RATE", text: ({ limits }) => (limits?.rate ? rateInWords(limits) : NOTHING) },
  { title: "EACH KEY", text: ({ limits }) => limitsInWords(limits?.perKey ?? {}), shrinks: "end", atLeast: 12 },
];

const A_KEY = { title: "KEY", shrinks: "middle", atLeast: 10 } as const;

/** Keys with limits of their own. What a key leaves open is empty. */
export const KEY_COLUMNS: readonly Column<KeyLimitsEntry>[] = [
  { ...A_KEY, text: ({ key }) => key ?? "(no key)" },
  { title: "RUNNING", text: ({ limits }) => own(limits.running), align: "right" },
  { title: "RATE", text: ({ limits }) => rateInWords(limits) },
  { title: "WAITING", text: ({ limits }) => own(limits.waiting), align: "right" },
  { title: "WEIGHT", text: ({ limits }) => own(limits.weight), align: "right" },
];

function own(limit: number | null | undefined): string {
  return limit === undefined ? "" : limit === null ? "none" : count(limit);
}

export function printUse(use: QueueLimitUse, withoutKey: OneKeyLimitOptions | null, output: Output): void {
  const { limits } = use;
  const now = Date.now();
  output.fact("queue", use.queue);
  output.fact("running", ofLimit(use.running, limits?.running));
  if (limits?.rate) output.fact("rate", `${rateInWords(limits)}; next start ${nextInWords(use, now)}`);
  const perKey = limitsInWords(limits?.perKey ?? {});
  if (perKey !== NOTHING) output.fact("each key", perKey);
  if (withoutKey?.weight !== undefined) output.fact("no key", `weight ${withoutKey.weight}`);
  if (limits === null) output.message(`queue ${use.queue} has no limits: millrace limits set ${use.queue} --running 50`);
  if (use.keys.length === 0) return;
  output.line("");
  output.table(useColumns(now), use.keys);
}

function useColumns(now: number): readonly Column<KeyLimitUse>[] {
  return [
    { ...A_KEY, text: ({ key }) => key },
    { title: "RUNNING", text: ({ running, limits }) => ofLimit(running, limits.running), align: "right" },
    { title: "WAITING", text: ({ waiting, limits }) => ofLimit(waiting, limits.waiting), align: "right" },
    { title: "RATE", text: ({ limits }) => (limits.rate ? rateInWords(limits) : NOTHING), leaveOut: 1 },
    {
      title: "NEXT",
      text: (key) => `${nextInWords(key, now)}${key.heldUntil === null ? "" : " (held)"}`,
      style: ({ heldUntil }) => (heldUntil === null ? undefined : "yellow"),
    },
    { title: "WEIGHT", text: ({ limits }) => count(limits.weight), align: "right", leaveOut: 2 },
    { title: "OWN", text: (key) => (key.own === null ? NOTHING : "yes"), leaveOut: 3 },
  ];
}

function nextInWords({ nextStartAt }: Pick<KeyLimitUse, "nextStartAt">, now: number): string {
  return nextStartAt === null || nextStartAt <= now ? "now" : `in ${took(nextStartAt - now)}`;
}

function ofLimit(used: number, limit: number | null | undefined): string {
  return limit === null || limit === undefined ? count(used) : `${count(used)} of ${count(limit)}`;
}
