import { BULK_QUEUE } from "./bulk.ts";
import { ALL_DELIVERIES, ALL_QUEUES, isDeliveryQueue } from "./delivery.ts";

/** The name by which a worker serves all queues of this kind. */
export function kindOfQueue(queue: string): string {
  if (queue === BULK_QUEUE) return BULK_QUEUE;
  return isDeliveryQueue(queue) ? ALL_DELIVERIES : ALL_QUEUES;
}
