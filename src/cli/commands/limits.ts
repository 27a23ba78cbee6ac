import type { PlainClient } from "../../client/client.ts";
import { toUseWire } from "../../http/wire/limits.ts";
import { toQueueWire } from "../../http/wire/queue.ts";
import { type CommandGroup, defineVerb, number, type Option, optional, orNone, reason, required, text, toggle } from "../command.ts";
import { CommandRefused, EXIT } from "../exit-codes.ts";
import { changedLimits, changedOwn } from "../limit-input.ts";
import { KEY_COLUMNS, printUse, QUEUE_COLUMNS } from "../limit-view.ts";
import type { Session } from "../session.ts";
import { CREATE } from "./pause.ts";

const queue = required("queue", "the name of a queue");

/** Whose limits: without either, those of the queue. */
const WHOSE = {
  key: text("<key>", "the limits of this limit key"),
  withoutKey: toggle("the weight of all jobs without a limit key"),
} as const;

const A_RATE = text("<rate>", "how many may start in a time: 100/s, 20/10s, 5000/h; none: no limit");

/** An option of the limits of each key. */
function perKey<Value>(name: string, option: Option<Value>): Option<Value> {
  return { ...option, field: `perKey.${name}` };
}

const PER_KEY = {
  perKeyRunning: perKey("running", orNone(number("how many jobs of each limit key may run at once; none: no limit"), "none")),
  perKeyRate: perKey("rate", orNone(text("<rate>", "how many jobs of each limit key may start in a time: 5/s; none: no limit"), "none")),
  perKeyBurst: perKey("burst", number("how many of them may start at once after a rest (default: 1)")),
  perKeyWaiting: perKey("waiting", orNone(number("how many jobs of each limit key may wait; none: no limit"), "none")),
} as const;

export const limits: CommandGroup = {
  about:
    "Shows how many jobs of a queue may run at once and start in a time, for the whole queue and for each limit key, and changes that. `millrace limits mail` is short for `millrace limits show mail`.",
  examples: ["millrace limits", "millrace limits mail", "millrace limits set mail --running 50 --rate 100/s --per-key-running 2"],
  usual: "show",
  commands: {
    show: defineVerb("Show the limits of a queue, and how much of them is used", {
      about:
        "Shows the limits of a queue, how much of them is used, and its ten busiest limit keys. NEXT: when the rate or the hold of a key lets its next job start. OWN: the key has limits of its own. Without a queue, shows all queues that have limits.",
      examples: ["millrace limits mail", "millrace limits show mail --key customer-7", "millrace limits mail --json | jq '.keys[].key'"],
      arguments: { queue: optional("queue", "the name of a queue") },
      options: { key: text("<key>", "show this limit key instead of the busiest") },
      run: ({ queue: name, key }, session) =>
        session.withClient(async (client) => (name === undefined ? showAll(client, session) : showUse(client, name, key, session))),
    }),
    set: defineVerb("Change limits of a queue or of one limit key", {
      about:
        "Changes the given limits of a queue; the others stay. With --key, gives that limit key limits of its own, which hold instead of those for each key. A new rate has a burst of 1 unless you give one.",
      examples: [
        "millrace limits set mail --running 50 --rate 100/s --per-key-running 2",
        "millrace limits set mail --key customer-7 --running 10 --rate 50/s --weight 3",
        "millrace limits set mail --rate none",
      ],
      arguments: { queue },
      options: {
        ...WHOSE,
        running: orNone(number("how many jobs may run at once; none: no limit"), "none"),
        rate: orNone(A_RATE, "none"),
        burst: number("how many units of the rate may start at once after a rest (default: 1)"),
        waiting: orNone(number("with --key: how many of its jobs may wait; none: no limit"), "none"),
        weight: number("with --key or --without-key: how many turns it gets in comparison with others, 1 to 100 (default: 1)"),
        ...PER_KEY,
        create: CREATE,
        reason,
      },
      run: ({ queue: name, key, withoutKey, create, reason: why, ...given }, session) =>
        session.withClient(async (client) => {
          const whose = readWhose(key, withoutKey);
          const options = { create, reason: why };
          if (whose === undefined) await client.configure(name, { limits: await changedLimits(client, name, given) }, options);
          else await client.limits.set(name, whose, await changedOwn(client, name, whose, given), options);
          await showUse(client, name, key, session);
        }),
    }),
    list: defineVerb("Show the limit keys that have limits of their own", {
      about: "Shows the limit keys of a queue that have limits of their own, by key. What a key leaves open is as for every key.",
      examples: ["millrace limits list mail", "millrace limits list mail --json | jq -r .key"],
      arguments: { queue },
      options: { limit: number("how many to show (default: 100)"), cursor: text("<cursor>", "continue where the previous list ended") },
      async run({ queue: name, limit, cursor }, session) {
        const page = await session.withClient((client) => client.limits.list(name, { limit, cursor }));
        session.output.items(page.keys, (entry) => entry, KEY_COLUMNS, `no limit key of queue ${name} has limits of its own`);
        if (page.cursor !== null) session.output.message(`there are more: continue with --cursor ${page.cursor}`);
      },
    }),
    remove: defineVerb("Remove the limits that a limit key has of its own", {
      about:
        "Removes the limits that a limit key has of its own: those for each key hold again. To remove limits of the queue, set them to none.",
      examples: ["millrace limits remove mail --key customer-7"],
      arguments: { queue },
      options: { ...WHOSE, reason },
      async run({ queue: name, key, withoutKey, reason: why }, session) {
        const whose = readWhose(key, withoutKey);
        if (whose === undefined) throw new CommandRefused("name the limit key with --key, or pass --without-key");
        const isRemoved = await session.withClient((client) => client.limits.remove(name, whose, { reason: why }));
        const words = whose === null ? `the jobs without a limit key in queue ${name}` : `limit key ${whose} in queue ${name}`;
        if (!isRemoved) throw new CommandRefused(`${words}: there are no limits of its own`, EXIT.notFound);
        if (session.output.json) session.output.value({ queue: name, key: whose, removed: true });
        else session.output.message(`${words}: the limits of its own are removed`);
      },
    }),
  },
};

/** The key; null for the jobs without one; undefined for the queue. */
function readWhose(key: string | undefined, withoutKey: boolean): string | null | undefined {
  if (key !== undefined && withoutKey) throw new CommandRefused("pass --key or --without-key, not both");
  return withoutKey ? null : key;
}

async function showAll(client: PlainClient, { output }: Session): Promise<void> {
  const limited = (await client.queues()).filter((each) => each.limits !== null);
  output.items(limited, toQueueWire, QUEUE_COLUMNS, "no queue has limits");
}

async function showUse(client: PlainClient, name: string, key: string | undefined, { output }: Session): Promise<void> {
  const use = await client.limits.use(name, key === undefined ? {} : { keys: [key] });
  if (use === null) throw new CommandRefused(`there is no queue ${name}`, EXIT.notFound);
  if (output.json) output.value(toUseWire(use));
  else printUse(use, await client.limits.get(name, null), output);
}
