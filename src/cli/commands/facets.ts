import type { FacetCounts } from "../../client/client.ts";
import { count } from "../../core/counted.ts";
import { defineCommand, required } from "../command.ts";
import { filterOf, JOB_FILTER, STATUS_FILTER } from "../job-filter.ts";
import type { Column } from "../table.ts";

export const facets = defineCommand({
  about:
    "Counts dead and failed jobs by the value of a payload field, most jobs first. Their queues must declare the field as a facet: see queues set --facets. Pass a value to list, bulk or retry-dead with --where.",
  examples: [
    "millrace facets customer",
    "millrace facets customer --queue mail --ended-from 24h",
    "millrace list --queue mail --status dead --where customer=globex",
  ],
  arguments: { field: required("field", "a payload field, such as customer or customer.id") },
  options: { status: STATUS_FILTER, ...JOB_FILTER },
  async run({ field, status, ...input }, session) {
    const { output } = session;
    const found = await session.withClient((client) => client.facets(field, { ...filterOf(input), status }));
    if (output.json) for (const each of found.values) output.value(each);
    else if (found.values.length === 0) output.message(`no dead or failed job has the facet ${field}`);
    else output.table(columns(found.isCapped), found.values);
    if (found.without > 0)
      output.message(`${count(found.without)} more without ${field}: not in their payload, or enqueued before it was a facet`);
    if (found.isCapped) output.message("there are more jobs: each count is at least that many");
    if (found.hasMore) output.message(`there are more values: these are the ${count(found.values.length)} with most jobs`);
  },
});

function columns(isCapped: boolean): readonly Column<FacetCounts["values"][number]>[] {
  return [
    { title: "VALUE", text: ({ value }) => value, shrinks: "end" },
    { title: "JOBS", text: (each) => `${isCapped ? "at least " : ""}${count(each.count)}`, align: "right" },
  ];
}
