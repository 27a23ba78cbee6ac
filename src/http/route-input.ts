/** What a route is given, and what it gives back. */
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import type { HandledTypes } from "./handled-types.ts";
import type { AnswerFrom, BodyIn, ParamsIn, QueryIn, RouteName } from "./contract.ts";

/** What a route is given: everything is checked already. */
export interface RouteInput<Name extends RouteName> {
  readonly params: ParamsIn<Name>;
  readonly query: QueryIn<Name>;
  readonly body: BodyIn<Name>;
  readonly call: Call;
  readonly requestId: string;
  /** Who calls; null before anybody was asked. */
  readonly caller: Caller | null;
  /** Aborts when the caller hung up, and when the server shuts down: then whoever waits answers at once. */
  readonly ending: AbortSignal;
  /** Says that the call waits for long from now on. Throws when too many do. */
  startWaiting(): void;
  /** Says that a stream has ended. Other calls leave with their answer. */
  leave(): void;
}

/** What a route answers. */
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

  constructor(mediaType: string, body: string | ReadableStream<Uint8Array>, headers: Readonly<Record<string, string>> = {}) {
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

/** What handlers are made of. */
export interface RouteParts {
  readonly client: Client;
  readonly clock: Clock;
  /** Null where this process runs no jobs: then others do, who need not be known here. */
  readonly handledTypes: HandledTypes | null;
}

/** 200 with this body. */
export function ok<Body>(body: Body): Reply<Body> {
  return { status: 200, body };
}
