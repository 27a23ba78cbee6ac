import type { ErrorGroup } from "../../core/error-tally.ts";
import { toErrorGroupsWire } from "../../http/wire/bulk.ts";
import { defineCommand } from "../command.ts";
import { count } from "../../core/counted.ts";
import { age } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import type { Column } from "../table.ts";

const { search: _search, group: _group, ...GROUP_FILTER } = JOB_FILTER;

export const deadGroups = defineCommand({
  about:
    "Groups dead letters by error, largest group first. Errors that differ only in numbers, ids and quoted texts are one group. Pass a group to list, retry-dead, purge-dead or bulk with --group.",
  examples: ["millrace dead-groups", "millrace dead-groups --type email:send --from 1h", "millrace dead-groups --json | jq -r .group"],
  options: GROUP_FILTER,
  async run(input, session) {
    const { output } = session;
    const { q: _, group: __, ...filter } = filterOf({ ...input, search: undefined, group: undefined });
    const found = await session.withClient((client) => client.dead.groups(filter));
    if (output.json) for (const group of toErrorGroupsWire(found).groups) output.value(group);
    else if (found.groups.length === 0) output.message("no dead jobs");
    else output.table(columns(Date.now()), found.groups);
    if (found.isCapped) output.message("there are more dead jobs: only the latest were counted");
  },
});

function columns(now: number): readonly Column<ErrorGroup>[] {
  return [
    { title: "GROUP", text: ({ group }) => group },
    { title: "JOBS", text: (group) => count(group.count), align: "right" },
    { title: "FIRST", text: ({ firstSeenAt }) => age(firstSeenAt, now), align: "right" },
    { title: "LAST", text: ({ lastSeenAt }) => age(lastSeenAt, now), align: "right" },
    { title: "TYPES", text: ({ types }) => types.join(", "), shrinks: true },
    { title: "ERROR", text: ({ name, message }) => `${name}: ${message}`, shrinks: true },
  ];
}
