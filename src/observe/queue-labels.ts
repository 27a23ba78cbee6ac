import { BULK_QUEUE } from "../core/bulk.ts";
import { isDeliveryQueue } from "../core/delivery.ts";

/** Names that no queue can have. */
const OTHER = "(other)";
const DELIVERIES = "(webhooks)";
const OPERATIONS = "(bulk)";

/**
 * Queues are users' to invent, and each one adds series that a monitoring system keeps for weeks. So the first queues that are seen are told
 * by name, and all that come later are told together. A queue that has its name keeps it while the process lives.
 */
export class QueueLabels {
  readonly #most: number;
  readonly #named = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  labelOf(queue: string): string {
    if (this.#named.has(queue)) return queue;
    if (isDeliveryQueue(queue)) return DELIVERIES;
    if (queue === BULK_QUEUE) return OPERATIONS;
    if (this.#named.size >= this.#most) return OTHER;
    this.#named.add(queue);
    return queue;
  }
}
