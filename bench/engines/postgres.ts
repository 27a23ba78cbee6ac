import { openBarePostgres } from "../bare/postgres.ts";
import { bullmqOnPostgres } from "../peers/bullmq.ts";
import { graphileWorker } from "../peers/graphile-worker.ts";
import { pgBoss } from "../peers/pg-boss.ts";
import { postgresSite } from "../places/postgres.ts";
import type { Engine } from "./engine.ts";

export const postgres: Engine = {
  name: "postgres",
  title: "PostgreSQL",
  openSite: postgresSite,
  inFlight: 2,
  openBare: openBarePostgres,
  peers: [graphileWorker, pgBoss, bullmqOnPostgres],
  isShared: true,
  variant: null,
};
