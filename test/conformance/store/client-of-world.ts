import { onTestFinished } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { clientOver, type ClientOverOptions } from "../../../src/assembly/client-over.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Store } from "../../../src/store/store.ts";
import type { World } from "../world.ts";

/** The store of the test, with something in the way of some of its verbs. Who closes its client leaves the store open. */
function obstructed(store: Store, verbs: Partial<Store>): Store {
  const others: Partial<Store> = { close: async () => {}, ...verbs };
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      const verb: unknown = others[name] ?? target[name];
      return typeof verb === "function" && others[name] === undefined ? (verb.bind(target) as unknown) : verb;
    },
  });
}

/** Leases and pauses go by the store's time, which the test turns; workers go by real time, which must go by for them to stop. */
export function openClient(world: World, verbs: Partial<Store> = {}, options: Partial<ClientOverOptions> = {}): Client {
  const client = clientOver(obstructed(world.store, verbs), { clock: systemClock, random: () => 0.5, onTrouble: () => {}, ...options });
  onTestFinished(() => client.close({ grace: 0 }));
  return client;
}
