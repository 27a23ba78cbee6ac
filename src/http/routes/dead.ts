/** Dead letters: list, retry and delete them. */
import { counted } from "../../core/counted.ts";
import type { deadRoutes } from "../contract/dead.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { fromFilterWire, toErrorGroupsWire } from "../wire/bulk.ts";
import { readPage } from "./job-page.ts";

export function deadHandlers({ client }: RouteParts): Handlers<keyof typeof deadRoutes> {
  return {
    async "GET /api/v1/dead"({ query }) {
      return ok(await readPage(client, (list) => client.dead.list(list), query, "dead"));
    },

    async "GET /api/v1/dead/groups"({ query }) {
      return ok(toErrorGroupsWire(await client.dead.groups(fromFilterWire(query))));
    },

    async "DELETE /api/v1/dead"(input) {
      const { reason: _reason, ...filter } = input.query;
      const purged = await client.dead.purge(fromFilterWire(filter), changeOptionsOf(input));
      return ok({ message: `Purged ${counted(purged, "dead job")}`, purged });
    },

    async "POST /api/v1/dead/retry"(input) {
      const retried = await client.dead.retry(fromFilterWire(input.body ?? {}), changeOptionsOf(input));
      return ok({ message: `Retried ${counted(retried, "dead job")}`, retried });
    },
  };
}
