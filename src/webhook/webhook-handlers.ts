import type { Handler } from "../client/client.ts";
import { WEBHOOK_TYPE } from "../core/delivery.ts";
import { type DeliveryClient, deliveryHandler } from "./deliver.ts";
import { Guard } from "./guard.ts";
import { httpRequestHandler } from "./http-request.ts";
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import type { ResolveHost } from "./resolve-host.ts";
import { readSecrets } from "./sign.ts";

export interface WebhookOptions {
  /** Reads the jobs and flows whose ends are delivered. */
  readonly client: DeliveryClient;
  /** Secrets to sign with, as a list or separated by commas; several while you replace one. Without any, deliveries are not signed. */
  readonly secrets?: string | readonly string[] | undefined;
  /** Private addresses and ranges that may be called, such as `10.0.0.0/8`. */
  readonly allow?: readonly string[] | undefined;
  /** Certificates of authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
  /** How hosts are resolved, the time, and a random number in [0, 1). Defaults: the system's. */
  readonly resolve?: ResolveHost | undefined;
  readonly now?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
}

/** The handlers of deliveries and of `http:request`, for `client.work`. Throws `invalid_input` if a secret or a range is invalid. */
export function webhookHandlers(options: WebhookOptions): Record<typeof WEBHOOK_TYPE | typeof HTTP_REQUEST_TYPE, Handler> {
  const { client, secrets = [], allow, ca, resolve, now = Date.now, random = Math.random } = options;
  const keys = secrets.length === 0 ? [] : readSecrets(secrets, "webhookSecret");
  const sender = { guard: new Guard({ allow, resolve }), ca };
  return {
    [WEBHOOK_TYPE]: deliveryHandler({ client, sender, keys, now, random }),
    [HTTP_REQUEST_TYPE]: httpRequestHandler({ sender, now }),
  };
}
