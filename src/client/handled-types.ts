import type { HandledType } from "../core/handled-type.ts";
import type { JsonSchema } from "../core/payload-schema.ts";
import type { Store } from "../store/store.ts";
import type { WorkerInfo } from "./client.ts";
import { listWorkers } from "./workers.ts";

/** What live workers handle, by type, with the schemas that they published. */
export async function listHandledTypes(store: Pick<Store, "workers" | "readSchemas">, options: unknown): Promise<HandledType[]> {
  const handled = (await listWorkers(store, options, "types")).flatMap(typesOf);
  const groups = [...Map.groupBy(handled, ({ type, digest }) => `${type} ${digest ?? ""}`).values()];
  const digests = [...new Set(groups.flatMap(([first]) => first!.digest ?? []))];
  const texts = digests.length === 0 ? [] : await store.readSchemas(digests);
  const schemas = new Map(texts.map((text, index) => [digests[index], text === null ? null : (JSON.parse(text) as JsonSchema)]));
  return groups
    .map((group) => {
      const { type, digest } = group[0]!;
      const queues = [...new Set(group.flatMap(({ worker }) => worker.queues))].sort();
      return { type, queues, workers: group.length, schema: schemas.get(digest) ?? null };
    })
    .sort((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : b.workers - a.workers));
}

interface WorkerType {
  readonly type: string;
  readonly digest: string | undefined;
  readonly worker: WorkerInfo;
}

function typesOf(worker: WorkerInfo): WorkerType[] {
  const { types, schemas = {} } = worker;
  return (types === "*" ? ["*"] : types).map((type) => ({
    type,
    digest: Object.hasOwn(schemas, type) ? schemas[type] : undefined,
    worker,
  }));
}
