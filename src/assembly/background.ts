/** WHAT EVERY SERVER RUNS besides answering requests: webhook deliveries and `http:request` jobs. One place for started and mounted servers. */
import type { Client, WorkerHandle, WorkOptions } from "../client/client.ts";
import { ALL_DELIVERIES, ALL_QUEUES, WEBHOOK_TYPE } from "../core/delivery.ts";
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import { AddressRules } from "../webhook/address-rules.ts";
import { webhookHandlers } from "../webhook/webhook-handlers.ts";

export interface BackgroundOptions {
  /** Secrets to sign deliveries with, as a list or separated by commas. */
  readonly secrets: string | readonly string[] | undefined;
  /** Private addresses and ranges that may be called. */
  readonly allow: readonly string[] | undefined;
  readonly work: Omit<WorkOptions, "queues" | "concurrency">;
}

/** How many deliveries and requests run at once: mostly they wait for an answer. */
const SLOTS = { min: 2, max: 50 };

/** Checks the options, and returns a function that starts the workers. Throws `invalid_input` if a secret or a range is invalid. */
export function prepareBackground(client: Client, { secrets, allow, work }: BackgroundOptions): () => WorkerHandle[] {
  void new AddressRules(allow, "webhookAllow");
  const own = webhookHandlers({ client, secrets, allow });
  return () => [
    client.work({ [WEBHOOK_TYPE]: own[WEBHOOK_TYPE] }, { ...work, queues: [ALL_DELIVERIES], concurrency: SLOTS }),
    client.work({ [HTTP_REQUEST_TYPE]: own[HTTP_REQUEST_TYPE] }, { ...work, queues: [ALL_QUEUES], concurrency: SLOTS }),
  ];
}
