/** CHECKS BEFORE A JOB WITH A URL IS STORED. Loaded with the first such job: most programs have none. */
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import type { Guard } from "./guard.ts";

/** The checks of a client. Each throws `invalid_input`, or rejects with it. */
export interface OutgoingChecks {
  readonly checkWebhookUrl: (url: string) => void | Promise<void>;
  /** By type. */
  readonly payloadChecks: ReadonlyMap<string, (payload: unknown) => Promise<void>>;
}

/** Checks of webhook URLs and of payloads of http:request. `allow` are private addresses and ranges that are open. */
export function outgoingChecks(allow: readonly string[] = []): OutgoingChecks {
  let guard: Guard | null = null;

  async function load(): Promise<Guard> {
    const { Guard } = await import("./guard.ts");
    return (guard ??= new Guard({ allow }));
  }

  return {
    checkWebhookUrl(url) {
      if (isPlainHost(url)) return undefined;
      return guard === null ? load().then((loaded) => loaded.refuseUrl(url, "webhookUrl")) : guard.refuseUrl(url, "webhookUrl");
    },
    payloadChecks: new Map([
      [
        HTTP_REQUEST_TYPE,
        async (payload) => {
          const { readHttpRequest } = await import("./http-request-payload.ts");
          const { url } = readHttpRequest(payload);
          if (!isPlainHost(url)) (guard ?? (await load())).refuseUrl(url, "payload.url");
        },
      ],
    ]),
  };
}

/** A host name with the default port: such a URL needs no further check. The text is a valid URL. */
function isPlainHost(text: string): boolean {
  const { hostname, port, username, password } = new URL(text);
  return port === "" && username === "" && password === "" && /[a-z-]\.?$/i.test(hostname) && !/(^|\.)localhost\.?$/.test(hostname);
}
