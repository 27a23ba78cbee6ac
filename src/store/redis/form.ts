/**
 * THE FORM OF WHAT IS STORED (see statements/form.ts): partitions of an older form are changed before anybody works with them.
 *
 * A hash outside the partitions has the form of each, so an opening reads that and asks no partition. One that is missing there is asked by
 * whoever next reads the names of the queues: an opening, or the upkeep of any process. That is how a partition is found which appears
 * later, such as when a forgotten producer of version 0.1 enqueues to a queue that nobody used yet. And whoever first inserts to a queue, or
 * configures it, asks its partition whatever the hash says: it may be wrong after a server lost data.
 */
import { counted } from "../../core/counted.ts";
import { MillraceError } from "../../core/errors.ts";
import { partitionOf } from "../../core/partition.ts";
import { listOf, numberOf, textOf } from "./codec.ts";
import { chunksOf, unlessFull } from "./context.ts";
import type { Keys } from "./keys.ts";
import { FORM } from "./layout.ts";
import type { Session } from "./session.ts";
import { CLOSE, FINISH, FORM_OF, FORMER, MOVE } from "./statements/form.ts";
import { WORKERS } from "./statements/shared.ts";

const WITHOUT_BUCKETS = 1;

/** The field of the whole store: a process of this version has opened it. */
const STORE = "store";

/** What the hash says: whether a process of this version has opened the store, and which partitions have the present form. */
export async function readForms(session: Session, keys: Keys): Promise<{ isOpened: boolean; partitions: number[] }> {
  const entries = listOf(await session.command("HGETALL", keys.forms)).map(textOf);
  const forms = new Map(chunksOf(entries, 2).map(([field, form]) => [field!, Number(form)]));
  if ([...forms.values()].some((form) => form > FORM)) throw newerForm();
  const formed = [...forms].filter(([field, form]) => field !== STORE && form === FORM);
  return { isOpened: forms.get(STORE) === FORM, partitions: formed.map(([field]) => Number(field)) };
}

/** Says that these partitions have the present form. While memory is full nothing is said, and they are asked again. */
export async function noteForms(session: Session, keys: Keys, partitions: readonly number[]): Promise<void> {
  await unlessFull(session.command("HSET", keys.forms, ...[STORE, ...partitions].flatMap((field) => [String(field), String(FORM)])));
}

const newerForm = (): MillraceError =>
  new MillraceError("unsupported_store", "this store was written by a newer version of Millrace: install that version");

/** The oldest form that the partitions of these queues have, or a newer one than we know. */
export async function formOf(session: Session, keys: Keys, queues: readonly string[]): Promise<number> {
  const forms = await formsOf(session, keys, queues);
  const newest = Math.max(FORM, ...forms);
  return newest === FORM && forms.includes(WITHOUT_BUCKETS) ? WITHOUT_BUCKETS : newest;
}

/**
 * Before this version opens a store for the first time: fails beside workers of version 0.1, because they could not report their jobs after
 * the move, and these would run again. Later nobody asks: the move itself is safe beside anything, a forgotten process must not stop those of
 * this version, and the workers found would be those of this version.
 */
export async function refuseBesideWorkers(session: Session, keys: Keys, queues: readonly string[]): Promise<void> {
  const forms = await formsOf(session, keys, queues);
  if (!forms.includes(WITHOUT_BUCKETS) || forms.includes(FORM)) return;
  const workers = listOf(await session.run(WORKERS, keys.workers, ["0"])).length;
  if (workers === 0) return;
  const message = `this store was written by an older version of Millrace, and ${counted(workers, "worker")} may still use it: stop all processes of the older version, then start this one again (a worker that was killed counts for some seconds)`;
  throw new MillraceError("unsupported_store", message);
}

async function formsOf(session: Session, keys: Keys, queues: readonly string[]): Promise<number[]> {
  const partitions = [...Map.groupBy(queues, partitionOf)];
  return Promise.all(partitions.map(async ([partition, names]) => numberOf(await session.run(FORM_OF, keys.partition(partition), names))));
}

/**
 * Gives the partitions of these queues the present form. It works in small steps, and can be stopped and begun again anywhere; processes that
 * do it at the same time help each other. `onMove` is called if there is something to move. Returns the partitions.
 */
export async function bringToForm(session: Session, keys: Keys, queues: readonly string[], onMove: () => void): Promise<number[]> {
  const partitions = Map.groupBy(queues, partitionOf);
  const closed = await Promise.all(
    [...partitions].map(async ([partition, names]) => {
      const base = keys.partition(partition);
      const [form, ...moved] = listOf(await session.run(CLOSE, base, names));
      return { base, form: numberOf(form), moved: moved.map(textOf) };
    }),
  );
  if (closed.some(({ form }) => form > FORM)) throw newerForm();
  const open = closed.filter(({ form }) => form !== FORM);
  if (open.length > 0) onMove();
  for (const { base, moved } of open) {
    // They will be known, and nobody would add a name that is missing.
    if (moved.length > 0) await unlessFull(session.command("SADD", keys.queues, ...moved));
    await move(session, base);
  }
  return [...partitions.keys()];
}

async function move(session: Session, base: string): Promise<void> {
  do {
    for (const hash of Object.entries(FORMER)) {
      let cursor = "0";
      do cursor = textOf(await session.run(MOVE, base, [...hash, cursor]));
      while (cursor !== "0");
    }
  } while (numberOf(await session.run(FINISH, base, [])) === 0);
}
