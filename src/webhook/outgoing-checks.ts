/** WHAT IS REFUSED OF REQUESTS THAT WILL BE SENT, before a job for them is stored. Loaded with the first such job: most programs have none. */
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import type { Guard } from "./guard.ts";

/** What a client asks of them: each throws `invalid_input`, or rejects with it. */
export interface OutgoingChecks {
  readonly checkWebhookUrl: (url: string) => void | Promise<void>;
  /** By type. */
  readonly payloadChecks: ReadonlyMap<string, (payload: unknown) => Promise<void>>;
}

/** Checks of webhook addresses and of payloads of http:request. `allow` are private addresses and ranges that are open all the same. */
export function outgoingChecks(allow: readonly string[] = []): OutgoingChecks {
  let refuse: ((url: string, field: string) => void) | null = null;

  async function load(): Promise<NonNullable<typeof refuse>> {
    const [{ Guard }, { refuseVisibly }] = await Promise.all([import("./guard.ts"), import("./visible-refusal.ts")]);
    const guard: Guard = new Guard({ allow });
    return (refuse = (url, field) => refuseVisibly(guard, url, field));
  }

  return {
    checkWebhookUrl(url) {
      if (isPlainHost(url)) return undefined;
      return refuse === null ? load().then((loaded) => loaded(url, "webhookUrl")) : refuse(url, "webhookUrl");
    },
    payloadChecks: new Map([
      [
        HTTP_REQUEST_TYPE,
        async (payload) => {
          const { readHttpRequest } = await import("./http-request-payload.ts");
          const { url } = readHttpRequest(payload);
          if (!isPlainHost(url)) (refuse ?? (await load()))(url, "payload.url");
        },
      ],
    ]),
  };
}

/** A host by its name, at the usual port: of such an address nothing can be seen. The URL is one. */
function isPlainHost(text: string): boolean {
  const { hostname, port, username, password } = new URL(text);
  return port === "" && username === "" && password === "" && /[a-z-]\.?$/i.test(hostname) && !/(^|\.)localhost\.?$/.test(hostname);
}
