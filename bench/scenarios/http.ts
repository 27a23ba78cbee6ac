import { loadEcho, loadMillrace } from "../http/run-load.ts";
import type { Session } from "../session.ts";
import type { Figure } from "../figure.ts";
import type { Scenario } from "./scenario.ts";

/** Jobs over HTTP: one per request beside a bare server, and a thousand per request. Server and client are separate processes. */
export const http: Scenario = {
  name: "http",
  isOnPage: true,
  measure: async (session) => (session.engine.isShared ? [...(await oneByOne(session)), ...(await manyAtATime(session))] : []),
};

function oneByOne(session: Session): Promise<Figure[]> {
  const load = { connections: 64, batch: 1, seconds: session.extent.seconds };
  return session.contest(
    [
      { what: "POST /api/v1/jobs over 64 connections", unit: "jobs/s" },
      { what: "response time of POST /api/v1/jobs, p99", unit: "ms" },
      { what: "CPU of the server for 1,000 POST /api/v1/jobs", unit: "ms" },
    ],
    [
      ...session.ofTrees(async (tree) => session.onFreshUrl((url) => loadMillrace(tree, url, load))),
      { name: "node:http echo", kind: "bare", run: () => loadEcho(load) },
    ],
  );
}

async function manyAtATime(session: Session): Promise<Figure[]> {
  const load = { connections: 8, batch: 1000, seconds: session.extent.seconds };
  return session.contest(
    [{ what: "POST /api/v1/jobs/batch, 1,000 each", unit: "jobs/s" }],
    session.ofTrees(async (tree) => session.onFreshUrl((url) => loadMillrace(tree, url, load))),
  );
}
