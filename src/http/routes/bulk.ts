/** Bulk operations: start, list, get and stop them. */
import type { BulkRequest } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import type { bulkRoutes } from "../contract/bulk.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { fromFilterWire, toOperationWire, toPreviewWire } from "../wire/bulk.ts";

export function bulkHandlers({ client }: RouteParts): Handlers<keyof typeof bulkRoutes> {
  return {
    async "POST /api/v1/bulk"(input) {
      const { dry_run, id, filter, spread, ...others } = input.body;
      const given = filter === undefined ? undefined : fromFilterWire(filter);
      // The client checks it.
      const request: BulkRequest = { ...others, filter: given, spread: spread as BulkRequest["spread"] };
      if (dry_run === true) return ok(toPreviewWire(await client.bulk.preview(request)));
      const operation = await client.bulk.start(request, { id, ...changeOptionsOf(input) });
      // Relative to this route, so that it is right under any mount path.
      return { status: 202, body: toOperationWire(operation), headers: { Location: `bulk/${operation.id}` } };
    },

    async "GET /api/v1/bulk"({ query }) {
      const { operations, cursor } = await client.bulk.list(query);
      return ok({ operations: operations.map(toOperationWire), next_cursor: cursor });
    },

    async "GET /api/v1/bulk/{id}"({ params: { id } }) {
      const operation = await client.bulk.get(id);
      if (operation === null) throw new MillraceError("not_found", `there is no bulk operation ${id}`, { jobId: id });
      return ok(toOperationWire(operation));
    },

    async "POST /api/v1/bulk/{id}/stop"(input) {
      return ok(toOperationWire(await client.bulk.stop(input.params.id, changeOptionsOf(input))));
    },
  };
}
