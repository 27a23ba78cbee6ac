import { BULK_QUEUE } from "../core/bulk.ts";
import { isDeliveryQueue } from "../core/delivery.ts";

/** Labels that no queue can have as its name. */
const OTHER = "(other)";
const DELIVERIES = "(webhooks)";
const OPERATIONS = "(bulk)";

/**
 * Users choose the names of queues, and each queue adds series that a monitoring system keeps for weeks. So only the first queues have their name
 * as a label, and all later ones share one. A queue keeps its label as long as the process runs.
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
