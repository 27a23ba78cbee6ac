/** Dead letters: list, retry and delete them. */
import { counted } from "../../core/counted.ts";
import type { MuteOptions } from "../../core/mute.ts";
import type { deadRoutes } from "../contract/dead.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { fromFilterWire, toErrorGroupsWire, toMuteWire } from "../wire/bulk.ts";
import { readPage } from "./job-page.ts";

export function deadHandlers({ client }: RouteParts): Handlers<keyof typeof deadRoutes> {
  return {
    async "GET /api/v1/dead"({ query }) {
      return ok(await readPage(client, (list) => client.dead.list(list), query, "dead"));
    },

    async "GET /api/v1/dead/groups"({ query }) {
      return ok(toErrorGroupsWire(await client.dead.groups(fromFilterWire(query))));
    },

    async "GET /api/v1/dead/mutes"() {
      return ok({ mutes: (await client.dead.mutes()).map(toMuteWire) });
    },

    async "POST /api/v1/dead/groups/{group}/mute"(input) {
      // The client checks it.
      const time = input.body?.for as MuteOptions["for"];
      return ok(toMuteWire(await client.dead.mute(input.params.group, { for: time, ...changeOptionsOf(input) })));
    },

    async "POST /api/v1/dead/groups/{group}/unmute"(input) {
      const { group } = input.params;
      const unmuted = await client.dead.unmute(group, changeOptionsOf(input));
      return ok({ message: unmuted ? `Error group ${group} is not muted any more` : `Error group ${group} was not muted`, group, unmuted });
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
