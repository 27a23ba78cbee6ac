import type pg from "pg";
import { expect, test } from "vitest";
import { LOCKED } from "../../../../src/store/postgres/failures.ts";
import { FUNCTIONS } from "../../../../src/store/postgres/function-set.ts";
import { statementsFor } from "../../../../src/store/postgres/statements.ts";
import { connectedTo, freshUrl, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** A session as behind a pooler: without our settings, so nothing but the function itself bounds a wait. */
const connected = (): Promise<pg.Client> => connectedTo(server());

const NO_JOB: null[] = Array.from({ length: 18 }, () => null);

/** What is there, what somebody does in a transaction that stays open, and a call that needs what it holds. */
const CALLS = {
  prune: {
    there: () => "",
    held: (schema: string) => `select pg_advisory_xact_lock(hashtext('${schema}.prune'), 1)`,
    values: [null, 1, 0, 0, 0, 10],
  },
  tick: {
    there: (schema: string) =>
      `insert into ${schema}.schedule (name, paused, version, created_at, updated_at, spec) values ('s', false, 1, 1, 1, '{}')`,
    held: (schema: string) => `update ${schema}.schedule set updated_at = 2`,
    values: [null, "s", 1, 5, 10, ...NO_JOB],
  },
  spend: {
    there: (schema: string) => `insert into ${schema}.allowance values ('a', 1)`,
    held: (schema: string) => `update ${schema}.allowance set free_at = 2`,
    values: [null, ["a"], [1], [1_000]],
  },
};

test.each(["prune", "tick", "spend"] as const)(
  "%s waits inside the server for a short while only, whatever the session says",
  async (name) => {
    const url = freshUrl(server());
    await openStoreOn(url);
    const schema = schemaOf(url);
    const { there, held, values } = CALLS[name];
    const [holder, caller] = [await connected(), await connected()];
    for (const text of [there(schema), "begin", held(schema)]) await holder.query(text);
    await expect(caller.query(statementsFor(schema, FUNCTIONS.digest)[name], [...values])).rejects.toMatchObject({ code: LOCKED });
    expect((await caller.query("select current_setting('lock_timeout') as left_behind")).rows).toEqual([{ left_behind: "0" }]);
  },
);
