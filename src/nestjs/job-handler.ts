/** METHODS THAT RUN JOBS: decorators mark them, and an application's providers are searched for them. */
import type { ModulesContainer } from "@nestjs/core";
import {
  type BatchHandler,
  type BatchOptions,
  defineJob,
  type HandledJob,
  type Handler,
  type JobDefinition,
  MillraceError,
} from "../index.ts";
import { clientToken } from "./tokens.ts";

/** Options of a handler's decorator. */
export interface JobHandlerOptions {
  /** The name of the module whose jobs the method handles, if the application has several. Default: the module without a name. */
  readonly client?: string | undefined;
}

/** A decorator for methods of this kind: another method does not compile. */
export type DecoratorOf<Method> = <Own extends Method>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Own>,
) => void;

// What producers give and what is stored does not matter to a handler.
type HandledBy<Payload, Returned> = JobDefinition<any, Payload, any, any, Returned>; // oxlint-disable-line no-explicit-any
type AnyDefinition = HandledBy<any, any>; // oxlint-disable-line no-explicit-any

type Method = (...args: unknown[]) => unknown;

interface Mark extends JobHandlerOptions {
  readonly type: string;
  readonly handledBy: (method: Method) => HandledJob;
}

/**
 * By the prototype that declares the method, and its name. Not on the function itself: a decorator above ours may put another function in its
 * place.
 */
const marks = new WeakMap<object, Map<string | symbol, Mark[]>>();

/**
 * Marks a method of a provider or controller as the handler of a type of job, which you give by its name or definition. It gets the payload and
 * the context. It runs where the module has a `worker`.
 */
export function JobHandler(type: string, options?: JobHandlerOptions): DecoratorOf<Handler<any>>; // oxlint-disable-line no-explicit-any -- a name does not tell the payload
export function JobHandler<Payload, Returned>(
  definition: HandledBy<Payload, Returned>,
  options?: JobHandlerOptions,
): DecoratorOf<Handler<Payload, Returned>>;
export function JobHandler(job: string | AnyDefinition, { client }: JobHandlerOptions = {}): DecoratorOf<Handler<never>> {
  const definition = definitionOf(job, "JobHandler");
  return marker({ type: definition.type, client, handledBy: (method) => definition.handle(method) });
}

/** As JobHandler, for a method that gets many jobs at once, as `handleMany` of a definition does. */
export function BatchJobHandler(type: string, options?: BatchOptions & JobHandlerOptions): DecoratorOf<BatchHandler<any>>; // oxlint-disable-line no-explicit-any -- a name does not tell the payload
export function BatchJobHandler<Payload, Returned>(
  definition: HandledBy<Payload, Returned>,
  options?: BatchOptions & JobHandlerOptions,
): DecoratorOf<BatchHandler<Payload, Returned>>;
export function BatchJobHandler(
  job: string | AnyDefinition,
  { client, ...batch }: BatchOptions & JobHandlerOptions = {},
): DecoratorOf<BatchHandler<never>> {
  const definition = definitionOf(job, "BatchJobHandler");
  return marker({ type: definition.type, client, handledBy: (method) => definition.handleMany(method as BatchHandler, batch) });
}

function definitionOf(job: unknown, decorator: string): AnyDefinition {
  if (typeof job === "string") return defineJob({ type: job });
  if (typeof (job as Partial<AnyDefinition> | undefined)?.handle === "function") return job as AnyDefinition;
  throw refusal(`@${decorator} takes the name of a type or a definition made by defineJob`);
}

function marker(mark: Mark): (target: object, name: string | symbol) => void {
  return (target, name) => {
    const methods = marks.get(target) ?? new Map<string | symbol, Mark[]>();
    marks.set(target, methods.set(name, [...(methods.get(name) ?? []), mark]));
  };
}

/** The handlers for one client, of all providers and controllers of an application, each bound to its instance. */
export function handlersIn(modules: ModulesContainer, client: string | undefined): HandledJob[] {
  const handlers = new Map<string, { readonly place: string; readonly handled: HandledJob }>();
  const seen = new Set<object>();
  const wrappers = [...modules.values()].flatMap(({ providers, controllers }) => [...providers.values(), ...controllers.values()]);
  for (const wrapper of wrappers) {
    const { instance } = wrapper;
    // Two tokens may stand for one instance.
    if (typeof instance !== "object" || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    for (const [name, own] of marksOf(instance)) {
      const place = `${String(wrapper.name)}.${String(name)}`;
      if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) throw refusal(`${place} handles jobs, ${NOT_ONE_INSTANCE}`);
      for (const { type, client: wanted, handledBy } of own) {
        if (!hasClient(modules, wanted)) throw refusal(`${place} handles jobs of the client "${wanted}", ${NO_SUCH_MODULE}`);
        if (wanted !== client) continue;
        const other = handlers.get(type);
        if (other !== undefined) throw refusal(`"${type}" has two handlers, ${other.place} and ${place}: ${ONE_HANDLER}`);
        const method: Method = (...args) => (instance as Record<string | symbol, Method>)[name]!(...args);
        handlers.set(type, { place, handled: handledBy(method) });
      }
    }
  }
  return [...handlers.values()].map(({ handled }) => handled);
}

/** Whether a module has a client by this name. One without a name is not asked for: a process may leave its jobs to others. */
function hasClient(modules: ModulesContainer, name: string | undefined): boolean {
  return name === undefined || [...modules.values()].some(({ providers }) => providers.has(clientToken(name)));
}

const NO_SUCH_MODULE = "but no MillraceModule of this application has that name: import one, or correct the name";
const NOT_ONE_INSTANCE = "but its class has one instance for each request or user: give it the default scope, and what it injects too";
const ONE_HANDLER = "a type has one handler. A provider that is listed in two modules counts twice: export it from one of them instead";

/** Those of its class and of the classes above; the nearest decides for a method. */
function marksOf(instance: object): Map<string | symbol, readonly Mark[]> {
  const found = new Map<string | symbol, readonly Mark[]>();
  for (let prototype: unknown = instance; prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, own] of marks.get(prototype as object) ?? []) if (!found.has(name)) found.set(name, own);
  }
  return found;
}

function refusal(message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: "handlers" });
}
