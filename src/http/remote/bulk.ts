/** Bulk operations over HTTP. The server runs them. */
import type { BulkOperation, BulkOperations, BulkPreview, BulkRequest } from "../../client/client.ts";
import { BULK_FIELDS, BULK_QUEUE } from "../../core/bulk.ts";
import { partitionOf } from "../../core/partition.ts";
import { readFields } from "../../core/read-fields.ts";
import type { Clock } from "../../lib/clock.ts";
import type { BulkOperationWire, BulkPreviewWire } from "../contract/bulk.ts";
import { fromOperationWire, fromPreviewWire } from "../wire/bulk.ts";
import { changeQuery } from "./change-query.ts";
import { idMaker, readId } from "./ids.ts";
import { filterText, queryOf } from "./queries.ts";
import { orNull } from "./schedules.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

export function createRemoteBulk(transport: Transport, clock: Clock): BulkOperations {
  const createId = idMaker(() => clock.now());

  /** The id is made here, so that a request whose answer was lost can be sent again. */
  async function send(request: BulkRequest, fields: object, query = {}): Promise<BulkOperationWire | BulkPreviewWire> {
    const { filter, ...rest } = readFields(request, "a bulk operation", BULK_FIELDS);
    const text = wireText({ ...rest, ...fields }, filter === undefined ? {} : { filter: filterText(filter as object, "filter") });
    return (await transport.ask("POST /api/v1/bulk", { query, body: text, repeatable: true })).body;
  }

  return {
    async preview(request): Promise<BulkPreview> {
      return fromPreviewWire(await send(request, { dryRun: true }));
    },
    async start(request, options): Promise<BulkOperation> {
      const { query, given } = changeQuery(options, "the options of a bulk operation", ["id"]);
      const { id = createId(partitionOf(BULK_QUEUE)) } = given;
      return fromOperationWire((await send(request, { id }, query)) as BulkOperationWire);
    },
    async get(id) {
      const found = await orNull(transport.ask("GET /api/v1/bulk/{id}", { params: { id: readId(id) }, repeatable: true }));
      return found === null ? null : fromOperationWire(found.body);
    },
    async list(page) {
      const query = queryOf(page, "a list of bulk operations");
      const { operations, next_cursor } = (await transport.ask("GET /api/v1/bulk", { query, repeatable: true })).body;
      return { operations: operations.map(fromOperationWire), cursor: next_cursor };
    },
    async stop(id, options) {
      const { query } = changeQuery(options, "the options of a change");
      const { body } = await transport.ask("POST /api/v1/bulk/{id}/stop", { params: { id: readId(id) }, query, repeatable: true });
      return fromOperationWire(body);
    },
  };
}
