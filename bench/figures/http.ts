import { type Load, type Loaded, loadEcho, loadMillrace } from "../http/run-load.ts";
import { onFresh } from "../places/place.ts";
import type { Figure, Measured } from "../report.ts";
import { askedFor, type Session } from "./session.ts";

/** HTTP rates: one job per request over 64 connections, compared with a bare server; and a thousand per request. Server and client are separate processes. */
export async function httpFigures(session: Session): Promise<Figure[]> {
  return session.engine.asked.http === undefined ? [] : [...(await oneByOne(session)), ...(await manyAtATime(session))];
}

async function oneByOne(session: Session): Promise<Figure[]> {
  const load: Load = { connections: 64, requests: session.jobs(40_000), batch: 1 };
  const ours = new Noted(() => onFresh(session.site, ({ url }) => loadMillrace(url, load)));
  const echo = new Noted(() => loadEcho(load));
  const rates = await session.contest("POST /api/v1/jobs, 64 connections", "jobs/s", ours.run, [
    { name: "node:http echo", run: echo.run, atLeast: session.engine.asked.http?.one },
  ]);
  const beside = (what: string, pick: (loaded: Loaded) => number): Figure => ({
    engine: session.engine.name,
    what,
    unit: "ms",
    ours: ours.measured(pick),
    beside: { name: "node:http echo", ...echo.measured(pick) },
  });
  return [
    ...rates,
    beside("POST /api/v1/jobs, p99", ({ p99 }) => p99),
    beside("POST /api/v1/jobs, CPU of the server for 1,000", ({ cpuMs }) => cpuMs * 1000),
  ];
}

function manyAtATime(session: Session): Promise<Figure[]> {
  const load: Load = { connections: 8, requests: Math.max(20, session.jobs(200_000) / 1000), batch: 1000 };
  const ours = async (): Promise<number[]> => [(await onFresh(session.site, ({ url }) => loadMillrace(url, load))).rate];
  return session.contest("POST /api/v1/jobs/batch, 1,000 each", "jobs/s", ours, [
    askedFor(session.engine.asked.http?.many, { atLeast: 1 }),
  ]);
}

/** A run that keeps all its measurements; the contest compares only the rate. */
class Noted {
  readonly #load: () => Promise<Loaded>;
  readonly #rounds: Loaded[] = [];

  constructor(load: () => Promise<Loaded>) {
    this.#load = load;
  }

  readonly run = async (): Promise<number[]> => {
    const loaded = await this.#load();
    this.#rounds.push(loaded);
    return [loaded.rate];
  };

  measured(pick: (loaded: Loaded) => number): Measured {
    const rounds = this.#rounds.map(pick);
    const sorted = rounds.toSorted((a, b) => a - b);
    return { best: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, rounds };
  }
}
