import { CallsUnderWay } from "./calls-under-way.ts";
import type { Feed, Store } from "./store.ts";

type PromiseOf<Name extends keyof Store> = Store[Name] extends (...args: never[]) => Promise<infer Answer> ? Answer : never;
type Verb = Exclude<{ [Name in keyof Store]: [PromiseOf<Name>] extends [never] ? never : Name }[keyof Store], keyof Feed | "close">;

/** An engine's implementation of each verb of the contract. One that has its answer at once need not return a promise. */
export type Verbs<Context> = {
  readonly [Name in Verb]: (context: Context, ...args: Parameters<Store[Name]>) => PromiseOf<Name> | Promise<PromiseOf<Name>>;
};

/** What `bindStore` needs from an engine. */
export interface Engine<Context> extends Pick<Store, "inFlight" | "shareable"> {
  /** Called at the start of each call; the verb gets what it returns. */
  readonly context: () => Context;
  readonly verbs: Verbs<Context>;
  readonly feed: Feed;
  /** The server that calls wait for, if the number of waiting calls is bounded. */
  readonly waitFor?: string;
  /** Left out if callers cannot bring their own transaction. */
  readonly within?: Store["within"];
  /** Makes the calls under way fail soon. */
  readonly giveUp?: () => void;
  /** Frees resources once the calls under way have ended. */
  readonly close: (callsEnded: Promise<void>) => Promise<void>;
}

/** Makes a store of an engine's verbs: after close every call is refused, and close waits for the calls under way. */
export function bindStore<Context>(engine: Engine<Context>): Store {
  const { context, verbs, feed, inFlight, shareable, waitFor = null, within = () => null, giveUp = () => {} } = engine;
  const calls = new CallsUnderWay(waitFor);
  const bind = (verb: (context: Context, ...args: never[]) => unknown) => {
    return async (...args: never[]): Promise<unknown> => {
      calls.begin();
      try {
        const answer = verb(context(), ...args);
        // Memory answers at once. Awaiting its answer would cost another turn of the microtask queue in each call.
        return answer instanceof Promise ? await answer : answer;
      } finally {
        calls.end();
      }
    };
  };
  const bound = Object.fromEntries(Object.entries(verbs).map(([name, verb]) => [name, bind(verb)]));
  const end = async (signal?: AbortSignal): Promise<void> => {
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted === true) giveUp();
    await engine.close(calls.close());
    signal?.removeEventListener("abort", giveUp);
  };
  let ended: Promise<void> | null = null;
  return {
    ...(bound as unknown as Pick<Store, Verb>),
    inFlight,
    shareable,
    within,
    watch: (listener) => feed.watch(listener),
    publish: (events) => calls.run(() => feed.publish(events)),
    newsWanted: () => feed.newsWanted(),
    listen: (listener) => feed.listen(listener),
    close: (signal) => (ended ??= end(signal)),
  };
}
