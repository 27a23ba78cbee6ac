import { BULK_QUEUE } from "./bulk.ts";
import { ALL_DELIVERIES, ALL_QUEUES, isDeliveryQueue } from "./delivery.ts";

/** The name under which those serve this queue who serve all of its kind. */
export function kindOfQueue(queue: string): string {
  if (queue === BULK_QUEUE) return BULK_QUEUE;
  return isDeliveryQueue(queue) ? ALL_DELIVERIES : ALL_QUEUES;
}
