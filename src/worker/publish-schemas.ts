import type { Leases } from "../client/client.ts";
import { PUBLISH_AGAIN_MS, type SchemaText } from "../core/payload-schema.ts";
import type { Clock } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";

/** Schemas are a help, and jobs come first: after a failure there is no hurry. */
const TRY_AGAIN_MS = 5000;

/** Publishes the schemas of a worker, and again before the store forgets them. Null if it has none. */
export function schemaPublisher(
  leases: Pick<Leases, "publishSchemas">,
  schemas: ReadonlyMap<string, SchemaText>,
  clock: Clock,
): Loop | null {
  if (schemas.size === 0) return null;
  const publish = async (): Promise<number> => {
    await leases.publishSchemas([...schemas.values()]);
    return PUBLISH_AGAIN_MS;
  };
  return new Loop({ clock, turn: publish, onError: () => TRY_AGAIN_MS });
}
