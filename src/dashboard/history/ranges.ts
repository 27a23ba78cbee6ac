/** How far back a chart goes, as users choose it. */
export const RANGES = {
  "1 h": { step: "minute", periods: 60 },
  "24 h": { step: "hour", periods: 24 },
  "7 d": { step: "hour", periods: 168 },
  "30 d": { step: "hour", periods: 720 },
} as const;

export type Range = keyof typeof RANGES;

/** What a chart of jobs is called. */
export const JOBS_PER = { minute: "Jobs per minute", hour: "Jobs per hour" } as const;
