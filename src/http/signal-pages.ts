/**
 * PAGES THAT SEND SIGNALS, for people who got a link from `ctx.signalUrl`. GET changes nothing: programs that scan mail follow every link. POST
 * sends the signal. Whoever has the link may do that, so nothing else is asked for; the secret signs all that the link says.
 */
import { createHash } from "node:crypto";
import type { Client, JobStep } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { isTerminal } from "../core/job.ts";
import { JsonText, prettyJson } from "../core/json-text.ts";
import { readLink, type SignalLink } from "../core/signal-links.ts";
import type { Clock } from "../lib/clock.ts";
import type { Call } from "./call.ts";
import type { signalPageRoutes } from "./contract/signal-pages.ts";
import { checkSignal } from "./fit-schema.ts";
import { MemoryLimiter } from "./limits.ts";
import { networkOf } from "./network.ts";
import { isFault } from "./problem.ts";
import { type Handlers, RawReply } from "./route-input.ts";
import { PAGE_HEADERS, type PageParts, signalPage } from "./signal-page.ts";

/** Requests from one address. People click a few times; nobody shall look for links, or read the store through one. */
const REQUESTS = { requests: 60, perMs: 60_000 };

export interface SignalPagesOptions {
  readonly client: Pick<Client, "get" | "steps" | "signal">;
  readonly clock: Clock;
  /** Without any, no link is one of this server. */
  readonly secrets: readonly string[];
  readonly addressOf: (call: Call) => string | null;
}

export class SignalPages {
  readonly #options: SignalPagesOptions;
  readonly #limiter = new MemoryLimiter(REQUESTS);

  constructor(options: SignalPagesOptions) {
    this.#options = options;
  }

  handlers(): Handlers<keyof typeof signalPageRoutes> {
    return {
      "GET /signal/{token}": ({ call, params: { token } }) => this.#answer(call, token, (link) => this.#show(link, token)),
      "POST /signal/{token}": ({ call, params: { token } }) => this.#answer(call, token, (link) => this.#send(link, token)),
    };
  }

  /** What every request has in common. Every answer is a page: a person reads it. */
  async #answer(call: Call, token: string, make: (link: SignalLink) => Promise<RawReply>): Promise<RawReply> {
    const { clock, secrets, addressOf } = this.#options;
    const address = addressOf(call);
    // A framework may not tell the address: then each link has a limit of its own, so that people do not wait for each other.
    const waitMs = this.#limiter.take(address === null ? signalId(token) : networkOf(address), clock.monotonic());
    if (waitMs > 0) return page(429, TOO_OFTEN, { "Retry-After": String(Math.ceil(waitMs / 1000)) });
    const link = readLink(token, secrets, clock.now());
    if (link === "invalid") return page(404, FORGED);
    if (link === "expired") return page(410, EXPIRED);
    try {
      return await make(link);
    } catch (error) {
      if (error instanceof MillraceError && error.code === "not_found") return page(410, GONE);
      if (error instanceof MillraceError && error.code === "wrong_status") return page(410, ENDED);
      if (error instanceof MillraceError && error.code === "invalid_input") return page(422, MISFIT);
      if (error instanceof MillraceError && isFault(error)) return page(503, UNAVAILABLE);
      throw error;
    }
  }

  async #show(link: SignalLink, token: string): Promise<RawReply> {
    const { client } = this.#options;
    const { id, name, payload, expiresAt } = link;
    const job = await client.get(id);
    if (job === null) return page(410, GONE);
    const step = job.hasSteps ? (await client.steps(id)).find((each) => each.name === name) : undefined;
    if (isSentBy(step, token)) return page(200, SENT);
    if (isTerminal(job.status)) return page(410, ENDED);
    if (step?.state === "timeout") return page(410, LATE);
    if (step?.state === "done") return page(200, ANSWERED);
    return page(200, {
      title: `Send “${name}”?`,
      text: "Somebody asks for your answer. Nothing is sent until you press the button.",
      facts: [
        ["Signal", name],
        ["Job", `${job.type} (${id})`],
        ["Link works until", new Date(expiresAt).toUTCString()],
      ],
      payload: payload === null ? null : prettyJson(new JsonText(payload, JSON.parse(payload))),
      button: `Send “${name}”`,
    });
  }

  async #send({ id, name, payload }: SignalLink, token: string): Promise<RawReply> {
    const { client } = this.#options;
    const sent = payload === null ? undefined : new JsonText(payload, JSON.parse(payload));
    const steps = await client.steps(id);
    const before = steps.find((each) => each.name === name);
    // The job may have ended since.
    if (isSentBy(before, token)) return page(200, SENT);
    checkSignal(steps, name, sent);
    const answer = await client.signal(id, name, sent, { id: signalId(token) });
    if (answer.accepted) return page(200, SENT);
    return answer.reason === "timed_out" ? page(410, LATE) : page(409, ANSWERED);
  }
}

/** The same link sends the same signal, so a second click is a success. */
function signalId(token: string): string {
  return `link:${createHash("sha256").update(token).digest("base64url")}`;
}

function isSentBy(step: JobStep | undefined, token: string): boolean {
  return step?.state === "done" && step.by === signalId(token);
}

function page(status: number, parts: PageParts, headers: Readonly<Record<string, string>> = {}): RawReply {
  return new RawReply("text/html; charset=utf-8", signalPage(parts), { ...PAGE_HEADERS, ...headers }, status);
}

const SENT: PageParts = { title: "Sent", text: "Thank you. Your answer has been received; you can close this page." };
const ANSWERED: PageParts = { title: "Already answered", text: "This question has been answered already. The first answer counts." };
const LATE: PageParts = { title: "Too late", text: "The time to answer is over, and the job has gone on without an answer." };
const ENDED: PageParts = { title: "The job has ended", text: "It does not wait for an answer any more, so nothing was sent." };
const GONE: PageParts = { title: "The job does not exist any more", text: "It has ended and was removed, so nothing was sent." };
const EXPIRED: PageParts = { title: "This link has expired", text: "Ask whoever sent it to you for a new one." };
const FORGED: PageParts = {
  title: "This link is not valid",
  text: "It is not complete, or it was not made by this server. Open it again from the message that it came with.",
};
const MISFIT: PageParts = {
  title: "This link cannot be used",
  text: "What it sends is not what the job waits for, so nothing was sent. Tell whoever sent it to you.",
};
const TOO_OFTEN: PageParts = { title: "Too many requests", text: "There were too many requests from your address. Try again in a minute." };
const UNAVAILABLE: PageParts = {
  title: "Not available",
  text: "The server could not reach its store, so nothing is known. Try again in a minute.",
};
