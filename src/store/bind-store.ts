import { CallsUnderWay } from "./calls-under-way.ts";
import type { Feed, Store } from "./store.ts";

type PromiseOf<Name extends keyof Store> = Store[Name] extends (...args: never[]) => Promise<infer Answer> ? Answer : never;
type Verb = Exclude<{ [Name in keyof Store]: [PromiseOf<Name>] extends [never] ? never : Name }[keyof Store], keyof Feed | "close">;

/** What an engine does for each verb of the contract, with what it needs for that. Who answers at once need not promise. */
export type Verbs<Context> = {
  readonly [Name in Verb]: (context: Context, ...args: Parameters<Store[Name]>) => PromiseOf<Name> | Promise<PromiseOf<Name>>;
};

/** What makes an engine a store. */
export interface Engine<Context> extends Pick<Store, "inFlight" | "shareable"> {
  /** What verbs work with, asked for at the beginning of each call. */
  readonly context: () => Context;
  readonly verbs: Verbs<Context>;
  readonly feed: Feed;
  /** Whom calls wait for, where there is a bound on how many may. */
  readonly waitFor?: string;
  /** Left out where a caller cannot have a transaction of its own. */
  readonly within?: Store["within"];
  /** Calls under way are to fail soon. */
  readonly giveUp?: () => void;
  /** Frees what was opened, once the calls under way have ended. */
  readonly close: (callsEnded: Promise<void>) => Promise<void>;
}

/** Binds an engine's verbs to the contract: every call is refused after close, and close waits for those under way. */
export function bindStore<Context>(engine: Engine<Context>): Store {
  const { context, verbs, feed, inFlight, shareable, waitFor = null, within = () => null, giveUp = () => {} } = engine;
  const calls = new CallsUnderWay(waitFor);
  const bind = (verb: (context: Context, ...args: never[]) => unknown) => {
    return async (...args: never[]): Promise<unknown> => {
      calls.begin();
      try {
        const answer = verb(context(), ...args);
        // Memory answers at once: to wait for what is there would cost it another turn of the microtask queue in each call.
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
