/** What the contract says about one route. */
import type { Static, TObject, TSchema } from "typebox";
import type { TextPlace } from "../../core/json-source.ts";
import type { ProblemCode } from "../problem-codes.ts";

/** What an API key may do. */
export const SCOPES = ["read", "enqueue", "work", "admin"] as const;
/** One thing that an API key may do. */
export type Scope = (typeof SCOPES)[number];

/** An answer that is not a problem. */
export interface AnswerKind {
  readonly when: string;
  /** Absent if the answer is not JSON. */
  readonly is?: TSchema;
  /** Set if the answer is not JSON. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One row of the contract. Its name is its method and path: `POST /api/v1/jobs/{id}/cancel`. */
export interface Route {
  readonly summary: string;
  /** `open` needs no key and shows no data. */
  readonly scope: Scope | "open";
  /** A key with this scope may call it, too. */
  readonly alsoFor?: Scope;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Checks only the field names of the body: the library checks the values, with the same messages. */
  readonly checksNamesOnly?: boolean;
  /** Fields whose JSON text is kept as it was sent: the route gets a JsonText for each. */
  readonly keepsText?: TextPlace;
  readonly bodyIsOptional?: boolean;
  /** In bytes. */
  readonly maxBody?: number;
  /** Request headers with a meaning for this route. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<number, AnswerKind>>;
  /** Problems that this route may answer with, besides USUAL_PROBLEMS. */
  readonly problems?: readonly ProblemCode[];
  /** The status of input problems here, instead of their own. */
  readonly inputStatus?: 400;
  /** Pages of any origin may call it: it goes by what is in its path alone, never by a cookie or an address. */
  readonly anyOrigin?: boolean;
  /** Served until the very end of a shutdown, so that running work can be reported. */
  readonly servedToTheEnd?: boolean;
}

/** The scopes of which a key needs one, in words. */
export function scopeWords({ scope, alsoFor }: Pick<Route, "scope" | "alsoFor">): string {
  return alsoFor === undefined ? `\`${scope}\`` : `\`${scope}\` or \`${alsoFor}\``;
}

/** Problems that any route with a key may answer with. */
export const USUAL_PROBLEMS: readonly ProblemCode[] = [
  "unauthorized",
  "forbidden",
  "rate_limited",
  "overloaded",
  "store_unavailable",
  "closed",
  "internal",
];

/** The names in braces of a path. */
export type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsOf<Rest> : never;

type TypeOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;
type AnswersOf<R extends Route> = {
  [Status in keyof R["answers"]]: R["answers"][Status] extends { readonly is: infer Is } ? TypeOf<Is> : null;
};

export type BodyOf<R extends Route> = R extends { readonly body: infer Body } ? TypeOf<Body> : undefined;
export type QueryOf<R extends Route> = R extends { readonly query: infer Query } ? TypeOf<Query> : undefined;
export type AnswerOf<R extends Route> = AnswersOf<R>[keyof AnswersOf<R>];
