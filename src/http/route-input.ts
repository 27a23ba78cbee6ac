/** What a route gets, and what it returns. */
import type { Client } from "../client/client.ts";
import { type ChangeOptions, MAX_ACTOR_LENGTH } from "../core/manual-change.ts";
import { readDuration } from "../core/read-fields.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import { MAX_WAIT_MS } from "./contract/leases.ts";
import type { HandledTypes } from "./handled-types.ts";
import type { PayloadCheck } from "./payload-check.ts";
import type { AnswerFrom, BodyIn, ParamsIn, QueryIn, RouteName } from "./contract.ts";

/** The input of a route, already checked. */
export interface RouteInput<Name extends RouteName> {
  readonly params: ParamsIn<Name>;
  readonly query: QueryIn<Name>;
  readonly body: BodyIn<Name>;
  readonly call: Call;
  readonly requestId: string;
  /** Null until the caller is known. */
  readonly caller: Caller | null;
  /** Aborts when the caller disconnects or the server shuts down: a waiting route then answers at once. */
  readonly ending: AbortSignal;
  /** Counts the call as waiting from now on. Throws if too many wait. */
  startWaiting(): void;
  /** To be called when a stream has ended. Other calls leave with their answer. */
  leave(): void;
}

export interface Reply<Body> {
  readonly status: number;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An answer that is not JSON. */
export class RawReply {
  readonly mediaType: string;
  readonly body: string | ReadableStream<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;

  constructor(
    mediaType: string,
    body: string | ReadableStream<Uint8Array>,
    headers: Readonly<Record<string, string>> = {},
    status: number = 200,
  ) {
    this.status = status;
    this.mediaType = mediaType;
    this.body = body;
    this.headers = headers;
  }
}

/** What a route does: parse, call, reply; no rules. */
export type Handler<Name extends RouteName> = (
  input: RouteInput<Name>,
) => Promise<Reply<AnswerFrom<Name>> | RawReply> | Reply<AnswerFrom<Name>> | RawReply;

/** The handlers of a family of routes. */
export type Handlers<Names extends RouteName> = { readonly [Name in Names]: Handler<Name> };

/** What handlers need. */
export interface RouteParts {
  readonly client: Client;
  readonly clock: Clock;
  /** Null if this process runs no jobs itself. */
  readonly handledTypes: HandledTypes | null;
  readonly payloadCheck: PayloadCheck;
}

/**
 * Who asks for a change, and why. The name never comes from the request: it is that of the API key or of the dashboard's user, and nobody's
 * where no key is needed.
 */
export function changeOptionsOf({ caller, query }: { caller: Caller | null; query: { reason?: string } }): ChangeOptions {
  const name = caller?.name ?? (caller === null || caller.id === null ? null : UNNAMED_KEY);
  return { by: name === null ? null : name.slice(0, MAX_ACTOR_LENGTH), reason: query.reason };
}

const UNNAMED_KEY = "API key";

/** 200 with this body. */
export function ok<Body>(body: Body): Reply<Body> {
  return { status: 200, body };
}

/** How long a call would wait, in milliseconds. */
export function readWait(wait: unknown): number {
  return wait === undefined ? 0 : readDuration(wait, "wait", 'a time of at most "30s"', MAX_WAIT_MS);
}
