/** What the contract says about one route. */
import type { Static, TObject, TSchema } from "typebox";
import type { TextPlace } from "../../core/json-source.ts";
import type { ProblemCode } from "../problem-codes.ts";

/** What an API key may be allowed to do. */
export const SCOPES = ["read", "enqueue", "work", "admin"] as const;
/** One thing that an API key may be allowed to do. */
export type Scope = (typeof SCOPES)[number];

/** An answer that is not a problem. */
export interface AnswerKind {
  readonly when: string;
  /** Absent where the answer is not JSON. */
  readonly is?: TSchema;
  /** Of what is not JSON. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One row of the contract. Its name is its method and path: `POST /api/v1/jobs/{id}/cancel`. */
export interface Route {
  readonly summary: string;
  /** `open` needs no key and tells nothing. */
  readonly scope: Scope | "open";
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Of the body only the names of its fields are checked here: the library checks what they hold, in the same words. */
  readonly checksNamesOnly?: boolean;
  /** Fields whose values are kept as they were sent: handlers are given a JsonText for each. */
  readonly keepsText?: TextPlace;
  /** The body may be left out altogether. */
  readonly bodyIsOptional?: boolean;
  /** The most bytes that a body may have. */
  readonly maxBody?: number;
  /** Request headers that mean something beyond the usual. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<number, AnswerKind>>;
  /** Problems that this route may answer with, beside those that every route may. */
  readonly problems?: readonly ProblemCode[];
  /** Problems of input have this status here, instead of their own. */
  readonly inputStatus?: 400;
  /** Served until the very end of a shutdown, so that work under way can be reported. */
  readonly servedToTheEnd?: boolean;
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

/** What a route's body holds, as JSON. */
export type BodyOf<R extends Route> = R extends { readonly body: infer Body } ? TypeOf<Body> : undefined;
/** What a route's query string holds. */
export type QueryOf<R extends Route> = R extends { readonly query: infer Query } ? TypeOf<Query> : undefined;
/** What any of a route's answers holds, as JSON. */
export type AnswerOf<R extends Route> = AnswersOf<R>[keyof AnswersOf<R>];
