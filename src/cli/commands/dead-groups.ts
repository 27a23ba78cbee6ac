import type { ErrorGroups } from "../../client/client.ts";
import type { ErrorGroup } from "../../core/error-tally.ts";
import { toErrorGroupsWire } from "../../http/wire/bulk.ts";
import { defineCommand } from "../command.ts";
import { count } from "../../core/counted.ts";
import { age, NOTHING } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import type { Column } from "../table.ts";
import { muteEnd } from "./errors.ts";

export const deadGroups = defineCommand({
  about:
    "Groups dead letters by error, largest group first. Errors that differ only in numbers, ids and quoted texts are one group. Pass a group to list, retry-dead, purge-dead or bulk with --group.",
  examples: ["millrace dead-groups", "millrace dead-groups --type email:send --from 1h", "millrace dead-groups --json | jq -r .group"],
  options: JOB_FILTER,
  async run(input, session) {
    const { output } = session;
    const found = await session.withClient((client) => client.dead.groups(filterOf(input)));
    if (output.json) for (const group of toErrorGroupsWire(found).groups) output.value(group);
    else if (found.groups.length === 0) output.message("no dead jobs");
    else output.table(columns(Date.now(), found), found.groups);
    if (found.isCapped) output.message("there are more dead jobs: each count is at least that many");
    if (found.hasMore) output.message(`there are more groups: these are the ${count(found.groups.length)} largest`);
  },
});

function columns(now: number, { groups, isCapped }: ErrorGroups): readonly Column<ErrorGroup>[] {
  const all: readonly (Column<ErrorGroup> & { readonly has?: (group: ErrorGroup) => boolean })[] = [
    { title: "GROUP", text: ({ group }) => group },
    { title: "JOBS", text: (group) => `${isCapped ? "at least " : ""}${count(group.count)}`, align: "right" },
    { title: "LAST 24 H", text: ({ trend }) => count(trend.reduce((sum, hour) => sum + hour, 0)), align: "right" },
    { title: "FIRST", text: ({ firstSeenAt }) => age(firstSeenAt, now), align: "right" },
    { title: "LAST", text: ({ lastSeenAt }) => age(lastSeenAt, now), align: "right" },
    {
      title: "SINCE VERSION",
      text: ({ firstVersion }) => firstVersion ?? NOTHING,
      shrinks: "middle",
      has: ({ firstVersion }) => firstVersion !== null,
    },
    { title: "MUTED UNTIL", text: ({ muted }) => (muted === null ? NOTHING : muteEnd(muted, now)), has: ({ muted }) => muted !== null },
    { title: "TYPES", text: ({ types }) => types.join(", "), shrinks: "end" },
    { title: "ERROR", text: ({ name, message }) => `${name}: ${message}`, shrinks: "end" },
  ];
  return all.filter(({ has = () => true }) => groups.some(has));
}
