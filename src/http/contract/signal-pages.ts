/** THE PAGES behind the links of `ctx.signalUrl`. The link is all that somebody needs. */
import type { Route } from "./route.ts";

const HTML = { mediaType: "text/html" };
const LINK_ANSWERS = {
  404: { when: "The link is not one of this server.", ...HTML },
  410: { when: "The link has expired, the job has ended or does not wait any more.", ...HTML },
  429: { when: "Too many requests from this address.", ...HTML, headers: { "Retry-After": "In seconds." } },
  503: { when: "The store did not answer.", ...HTML },
} as const;

export const signalPageRoutes = {
  "GET /signal/{token}": {
    summary: "Show what a link of ctx.signalUrl would send, with a button; nothing is changed",
    scope: "open",
    answers: {
      200: { when: "The page, or that the signal has come already.", ...HTML },
      ...LINK_ANSWERS,
    },
  },
  "POST /signal/{token}": {
    summary: "Send the signal of a link",
    scope: "open",
    anyOrigin: true,
    answers: {
      200: { when: "Sent, by this request or an earlier one of the same link.", ...HTML },
      409: { when: "Another signal of this name came first.", ...HTML },
      422: { when: "The job waits for a signal of another form.", ...HTML },
      ...LINK_ANSWERS,
    },
  },
} as const satisfies Record<string, Route>;
