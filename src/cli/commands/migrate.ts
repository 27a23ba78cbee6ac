import { isServerUrl, maskUrl } from "../../config/store-url.ts";
import type { StoreReport } from "../../core/store-report.ts";
import { defineCommand, toggle } from "../command.ts";
import { CommandRefused, EXIT } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { withProgress } from "../progress.ts";

export const migrate = defineCommand({
  about:
    "Makes the tables that Millrace needs in a store, or updates them; on Redis, moves what an older version stored. Every process does this when it starts; use this command to do it earlier, such as before a deploy.",
  examples: [
    "millrace migrate --dry-run",
    "millrace migrate --url postgres://localhost/app",
    "millrace migrate --url postgres://localhost/app --sql | psql postgres://localhost/app",
  ],
  options: {
    dryRun: toggle("only print what would be done"),
    sql: toggle("only print the SQL that makes the tables of a new store; does not connect"),
  },
  async run({ dryRun, sql }, session) {
    const { output, terminal } = session;
    const { config } = await session.settings("url");
    if (isServerUrl(config.url)) throw new CommandRefused("a server migrates its own store: pass the URL of a store with --url");
    const { inspectStore, schemaScriptOf } = await import("../../store/open-store.ts");
    if (sql) return printScript(await schemaScriptOf(config.url), output);
    const { engine, schema } = await inspectStore(config.url);
    refuseNewer(schema, config.url);
    const isDue = schema !== null && (schema.found < schema.wanted || schema.lacksFunctions === true);
    if (isDue && !dryRun) {
      const opened = session.withClient((client) => client.queues());
      await withProgress({ output, screen: terminal.stderr, what: "migrating" }, opened, async () => ({ done: 0, total: null }));
    }
    if (output.json) output.value({ engine, schema: schema?.found ?? null, newest: schema?.wanted ?? null, migrated: isDue && !dryRun });
    else output.line(`${engine}: ${outcome(schema, dryRun)}`);
  },
});

function printScript(script: string | null, output: Output): void {
  if (script === null) throw new CommandRefused("--sql: this store has no tables; pass a PostgreSQL database or a SQLite file with --url");
  if (output.json) output.value({ sql: script });
  else for (const line of script.trimEnd().split("\n")) output.line(line);
}

function refuseNewer(schema: StoreReport["schema"], url: string): void {
  if (schema === null || schema.found <= schema.wanted) return;
  throw new CommandRefused(
    `${maskUrl(url)} has schema ${schema.found}, but this version of Millrace knows only up to ${schema.wanted}: install the newer version`,
    EXIT.failure,
  );
}

function outcome(schema: StoreReport["schema"], dryRun: boolean): string {
  if (schema === null) return "there is no schema to migrate";
  const { found, wanted, lacksFunctions } = schema;
  if (found === wanted && lacksFunctions === true) {
    return `schema ${found} is up to date, ${dryRun ? "migrate would create the functions of this version" : "created the functions of this version"}`;
  }
  if (found === wanted) return `schema ${found} is up to date, nothing to do`;
  if (found === 0) return dryRun ? `there is no schema yet, migrate would create schema ${wanted}` : `created schema ${wanted}`;
  return dryRun ? `migrate would update schema ${found} to ${wanted}` : `updated schema ${found} to ${wanted}`;
}
