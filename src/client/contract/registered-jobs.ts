/** Types of the jobs that `connect(url, { jobs })` registers: which names a client knows, and what their payloads and results are. */
import type { HTTP_REQUEST_TYPE } from "../../core/internal.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { DefinitionOf, EnqueueResult, GivenId, PayloadField } from "./jobs.ts";
import type { HandledJob, Handler, JobDefinition } from "./work.ts";

/** Definitions of all kinds, as `connect` takes them. */
export type JobList = readonly DefinitionOf<any, any>[]; // oxlint-disable-line no-explicit-any -- each definition knows its own types

/** The payload and the result of a job, the payload as a field of an item or a schedule, and its handler. */
export interface JobTypes {
  readonly payload: unknown;
  readonly result: unknown;
  readonly field: { readonly payload?: unknown };
  readonly handler: Handler<any>; // oxlint-disable-line no-explicit-any -- a handler of no known definition knows its own payload
}

/** The jobs that a client knows, by name. A client without registered jobs has this one: it takes any name. */
export type JobsByName = Readonly<Record<string, JobTypes>>;

/**
 * The jobs of a list of definitions: `Client<JobsOf<typeof jobs>>` is the client that `connect(url, { jobs })` returns. A definition whose type is
 * any `string` has no name that the compiler knows; it can only be used as such.
 */
export type JobsOf<Jobs extends JobList> = JobList extends Jobs
  ? JobsByName
  : {
      readonly [
        Definition in Jobs[number] | BuiltIn as string extends Definition["type"] ? never : Definition["type"]
      ]: TypesIn<Definition>;
    };

type BuiltIn = JobDefinition<unknown, unknown, unknown, typeof HTTP_REQUEST_TYPE>;

type TypesIn<Definition> =
  Definition extends JobDefinition<infer Input, infer Payload, infer Result, string, infer Returned>
    ? {
        readonly payload: Input;
        readonly result: Result;
        readonly field: PayloadField<Input>;
        readonly handler: Handler<Payload, Returned, Returned>;
      }
    : JobTypes;

/** A name that a client takes. */
export type JobName<Jobs extends JobsByName> = keyof Jobs & string;

/** Stands for a payload or result that no definition tells: the name of the job decides. */
export interface ByName {
  readonly "~byName": never;
}

/** `Told` if a definition or the caller tells it, otherwise that of the named job. */
export type ToldOr<Named, Told> = 0 extends 1 & Told ? Told : [Told] extends [ByName] ? Named : Told;

/** Items of enqueueMany, each with the payload of its definition or name. */
export type ItemsOf<Jobs extends JobsByName, Kinds extends readonly unknown[]> = {
  readonly [Index in keyof Kinds]: JobOptions & GivenId & { readonly type: Kinds[Index] } & KindTypes<Jobs, Kinds[Index]>["field"];
};

/** The results of enqueueMany, each with the types of its item. */
export type ResultsOf<Jobs extends JobsByName, Kinds extends readonly unknown[]> = {
  -readonly [Index in keyof Kinds]: EnqueueResult<KindTypes<Jobs, Kinds[Index]>["payload"], KindTypes<Jobs, Kinds[Index]>["result"]>;
};

// No condition on Jobs itself: the compiler could not tell that a client with registered jobs is a client.
type KindTypes<Jobs extends JobsByName, Kind> = [Kind] extends [string]
  ? Jobs[Kind]
  : [Kind] extends [JobList[number]]
    ? TypesIn<Kind>
    : JobTypes;

/**
 * Handlers by name (`"*"` takes any other type), or a list of definitions with handlers, which need not be registered. Without registered jobs
 * these are `Handlers`.
 */
export type HandlersOf<Jobs extends JobsByName> = HandlersByName<Jobs> | readonly HandledJob[];

// Known names are optional. Any name of a client without registered jobs is none of them: with `?` it could be undefined.
type HandlersByName<Jobs extends JobsByName> = {
  readonly [Name in keyof Jobs as string extends Name ? never : Name]?: Jobs[Name]["handler"];
} & {
  readonly [Name in keyof Jobs as string extends Name ? Name : never]: Jobs[Name]["handler"];
} & { readonly "*"?: JobTypes["handler"] };

/** What a schedule runs, by name, with the payload of the named job. */
export type ScheduledByName<Jobs extends JobsByName, Name extends JobName<Jobs>> = {
  readonly type: Name;
  readonly job?: undefined;
} & Jobs[Name]["field"];
