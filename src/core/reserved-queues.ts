/**
 * Queues that are ours: deliveries wait in some, bulk operations in another. No user can give them such a name, so their jobs are in nobody's
 * counts, and no capacity or pause holds them.
 */
import { BULK_QUEUE } from "./bulk.ts";
import { ALL_DELIVERIES, ALL_QUEUES, isDeliveryQueue } from "./delivery.ts";

export function isReservedQueue(queue: string): boolean {
  return queue === BULK_QUEUE || isDeliveryQueue(queue);
}

/** The name under which those serve this queue who serve all of its kind. */
export function kindOfQueue(queue: string): string {
  if (queue === BULK_QUEUE) return BULK_QUEUE;
  return isDeliveryQueue(queue) ? ALL_DELIVERIES : ALL_QUEUES;
}
