import type { HandledType } from "../../core/handled-type.ts";
import { defineCommand, optional, toggle } from "../command.ts";
import { count } from "../../core/counted.ts";
import type { Column } from "../table.ts";

export const types = defineCommand({
  about:
    "Shows the types that live workers handle, in which queues, and whether they publish the schema of the payload. With a type, prints its JSON Schemas, one for each version that runs.",
  examples: ["millrace types", "millrace types email:send", "millrace types --json | jq .schema"],
  arguments: { type: optional("type", "print the JSON Schemas of this type") },
  options: { internal: toggle("include the types that internal workers of servers handle") },
  async run({ type, internal }, session) {
    const { output } = session;
    const all = await session.withClient((client) => client.types({ internal }));
    const found = type === undefined ? all : all.filter((each) => each.type === type);
    if (type === undefined || output.json) {
      return output.items(found, (each) => each, COLUMNS, "no live worker: jobs wait until you start one");
    }
    const schemas = found.flatMap(({ schema }) => schema ?? []);
    if (schemas.length === 0)
      output.message(found.length === 0 ? `no live worker handles ${type}` : `no live worker publishes a schema of ${type}`);
    for (const schema of schemas) output.line(JSON.stringify(schema, null, 2));
  },
});

const COLUMNS: readonly Column<HandledType>[] = [
  { title: "TYPE", text: ({ type }) => (type === "*" ? "any" : type), shrinks: "middle" },
  { title: "WORKERS", text: ({ workers }) => count(workers), align: "right" },
  { title: "SCHEMA", text: ({ schema }) => (schema === null ? "-" : "yes") },
  { title: "QUEUES", text: ({ queues }) => queues.join(", "), shrinks: "end" },
];
