import { isServerUrl, maskUrl } from "../../config/store-url.ts";
import type { StoreReport } from "../../core/store-report.ts";
import { defineCommand, toggle } from "../command.ts";
import { CommandRefused, EXIT } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { withProgress } from "../progress.ts";

/** Brings the schema of the store to its newest. */
export const migrate = defineCommand({
  about:
    "Makes the tables that Millrace needs in a store, or brings them to the newest version. Every process does that when it starts; this is for those who want it done before.",
  examples: [
    "millrace migrate --dry-run",
    "millrace migrate --url postgres://localhost/app",
    "millrace migrate --url postgres://localhost/app --sql | psql postgres://localhost/app",
  ],
  options: {
    dryRun: toggle("only tell what would be done"),
    sql: toggle("only print the SQL that makes the tables of a new store; does not connect"),
  },
  async run({ dryRun, sql }, session) {
    const { output, terminal } = session;
    const { config } = await session.settings("url");
    if (isServerUrl(config.url)) throw new CommandRefused("a server migrates its store itself: name the store with --url");
    const { inspectStore, schemaScriptOf } = await import("../../store/open-store.ts");
    if (sql) return printScript(await schemaScriptOf(config.url), output);
    const { engine, schema } = await inspectStore(config.url);
    refuseNewer(schema, config.url);
    const isDue = schema !== null && (schema.found < schema.wanted || schema.lacksFunctions === true);
    if (isDue && !dryRun) {
      const open = (): Promise<void> => session.withClient(async (client) => void (await client.queues()));
      await withProgress({ output, screen: terminal.stderr, what: "migrating" }, open, async () => async () => ({ done: 0, total: null }));
    }
    if (output.json) output.value({ engine, schema: schema?.found ?? null, newest: schema?.wanted ?? null, migrated: isDue && !dryRun });
    else output.line(`${engine}: ${outcome(schema, dryRun)}`);
  },
});

function printScript(script: string | null, output: Output): void {
  if (script === null) throw new CommandRefused("--sql: this store has no tables; name a PostgreSQL database or a SQLite file with --url");
  if (output.json) output.value({ sql: script });
  else for (const line of script.trimEnd().split("\n")) output.line(line);
}

function refuseNewer(schema: StoreReport["schema"], url: string): void {
  if (schema === null || schema.found <= schema.wanted) return;
  throw new CommandRefused(
    `${maskUrl(url)} has schema ${schema.found}, and this Millrace knows only up to ${schema.wanted}: install the newer version that made it`,
    EXIT.failure,
  );
}

function outcome(schema: StoreReport["schema"], dryRun: boolean): string {
  if (schema === null) return "there is no schema to migrate";
  const { found, wanted, lacksFunctions } = schema;
  if (found === wanted && lacksFunctions === true) {
    return `schema ${found} is the newest, ${dryRun ? "migrate would make the functions of this version" : "the functions of this version are made"}`;
  }
  if (found === wanted) return `schema ${found} is the newest, nothing to do`;
  const from = found === 0 ? "there was no schema" : `schema was ${found}`;
  if (!dryRun) return `${from}, it is ${wanted} now`;
  return found === 0 ? `there is no schema yet, migrate would make ${wanted}` : `schema is ${found}, migrate would bring it to ${wanted}`;
}
