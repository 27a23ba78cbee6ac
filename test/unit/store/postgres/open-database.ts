import pg from "pg";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { JOB_DEFAULTS, createJob, readJobOptions, type JobOptions } from "../../../../src/core/job-options.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../../src/store/postgres/postgres-store.ts";
import type { Claim, Store } from "../../../../src/store/store.ts";
import { freshSchema, type PostgresServer, startPostgres } from "../../../servers/postgres.ts";

/** A server for the tests of a file. */
export function serverOfThisFile(): () => PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => void (server = await startPostgres()));
  afterAll(() => server.stop());
  return () => server;
}

/** The URL of a schema that nobody has used. */
export function freshUrl(server: PostgresServer): string {
  return freshSchema(server.url);
}

/** The schema that such a URL names. */
export function schemaOf(url: string): string {
  return new URL(url).searchParams.get("schema")!;
}

/** A connection of somebody else's, without any setting of ours. It ends with the test. */
export async function connectedTo(server: PostgresServer): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A store that is closed after the test. */
export async function openStoreOn(url: string, options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
  const store = await openPostgresStore(url, { clock: systemClock, deadlineMs: 10_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

const createId = idMaker(() => Date.now());

export function jobOf(options: JobOptions = {}, type = "task", payload: unknown = null): NewJob {
  return createJob(createId(1), type, payload, readJobOptions(options, JOB_DEFAULTS, Date.now()));
}

export function claimOf(change: Partial<Claim> = {}): Claim {
  return { workerId: "w", queues: ["default"], types: "*", limit: 10, leaseMs: 30_000, turn: 1, again: false, local: false, ...change };
}
