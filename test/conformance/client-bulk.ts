import { describe, expect } from "vitest";
import { errorGroup } from "../../src/core/error-group.ts";
import { MAX_GROUPS } from "../../src/core/error-tally.ts";
import type { BulkOperation, BulkRequest, Client, JobInput } from "../../src/client/client.ts";
import type { Status } from "../../src/core/job.ts";
import { until } from "../faults/until.ts";
import type { Promises } from "./client.ts";
import { dieAtOnce } from "./die-at-once.ts";

const MISSING_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

/** Dead letters by error, and one change for many jobs. */
export function bulkSuite(promises: Promises): void {
  describe("groups of dead letters", () => {
    promises("are told with their numbers, and filters take them", async (client) => {
      await die(client, [
        { type: "mail", message: "no user 1" },
        { type: "mail", message: "no user 22" },
        { type: "sms", message: "no user 333" },
        { type: "sms", message: "disk full" },
      ]);
      const { groups, ...more } = await client.dead.groups();
      expect(more).toEqual({ isCapped: false, hasMore: false });
      expect(groups).toMatchObject([
        { name: "Boom", count: 3, types: ["mail", "sms"] },
        { name: "Boom", message: "disk full", count: 1, types: ["sms"] },
      ]);
      const [users, disk] = groups as [(typeof groups)[0], (typeof groups)[0]];
      expect(users.firstSeenAt).toBeLessThanOrEqual(users.lastSeenAt);
      const sample = await client.get(users.sampleJobId);
      expect(sample).toMatchObject({ status: "dead", error: { group: users.group, message: users.message } });
      expect((await client.attempts(users.sampleJobId))[0]?.error).toMatchObject({ group: users.group });
      expect((await client.dead.groups({ type: "sms" })).groups.map(({ count }) => count)).toEqual([1, 1]);

      expect((await client.dead.groups({ group: disk.group })).groups).toEqual([disk]);
      expect(await client.dead.groups({ q: "NO USER" })).toEqual({ groups: [users], isCapped: false, hasMore: false });
      expect((await client.dead.groups({ q: "user", type: "mail" })).groups).toMatchObject([{ group: users.group, count: 2 }]);
      expect(await client.dead.groups({ q: "nowhere" })).toEqual({ groups: [], isCapped: false, hasMore: false });
      expect((await client.dead.groups({ q: disk.sampleJobId })).groups).toEqual([disk]);

      expect((await client.list({ group: users.group })).jobs).toHaveLength(3);
      expect((await client.dead.list({ group: users.group, type: "sms" })).jobs).toHaveLength(1);
      expect(await client.dead.retry({ group: disk.group })).toBe(1);
      expect(await client.dead.purge({ group: users.group, type: "mail" })).toBe(2);
      expect((await client.dead.groups()).groups).toMatchObject([{ group: users.group, count: 1, types: ["sms"] }]);
      for (const bad of ["nonsense", "", 7, "ABCDEFABCDEF"]) {
        await expect(client.list({ group: bad as string })).rejects.toMatchObject({ code: "invalid_input", field: "group" });
      }
    });

    promises("are counted exactly even if there are more groups than are listed", async (client) => {
      // Two jobs of each error, but one of the last.
      const messages = Array.from({ length: MAX_GROUPS + 1 }, (_, index) => "x".repeat(index + 1));
      await client.enqueueMany(messages.flatMap((type, index) => (index === MAX_GROUPS ? [{ type }] : [{ type }, { type }])));
      await dieAtOnce(client, "default", (type) => type);
      for (const filter of [{}, { q: "x" }]) {
        const { groups, ...more } = await client.dead.groups(filter);
        expect(more).toEqual({ isCapped: false, hasMore: true });
        expect(groups.map(({ count }) => count)).toEqual(Array.from({ length: MAX_GROUPS }, () => 2));
      }
      const smallest = errorGroup("Boom", messages.at(-1)!);
      const found = { groups: [{ group: smallest, count: 1 }], isCapped: false, hasMore: false };
      expect(await client.dead.groups({ group: smallest })).toMatchObject(found);
      const largest = errorGroup("Boom", messages[0]!);
      expect(await client.dead.groups({ group: largest })).toMatchObject({ groups: [{ count: 2 }], isCapped: false, hasMore: false });
    });
  });

  describe("a muted group", () => {
    promises("comes last, needs no attention, and tells who muted it, until it is unmuted", async (client) => {
      await die(client, [
        { type: "mail", message: "no user 1" },
        { type: "mail", message: "no user 2" },
        { type: "mail", message: "disk full" },
      ]);
      const [users, disk] = (await client.dead.groups()).groups;
      const alarm = async () => (await client.attention()).find(({ code }) => code === "dead_jobs") ?? null;
      expect(users!.muted).toBeNull();
      expect(await alarm()).toMatchObject({ count: 3 });
      const muted = await client.dead.mute(users!.group, { for: "24h", reason: "fixed in 1.4.1" });
      expect(muted).toMatchObject({ group: users!.group, reason: "fixed in 1.4.1", until: muted.at + 86_400_000 });
      expect(await client.dead.mutes()).toEqual([muted]);
      expect((await client.dead.groups()).groups).toEqual([disk, { ...users, muted }]);
      expect((await client.dead.groups({ q: "user" })).groups).toEqual([{ ...users, muted }]);
      expect(await alarm()).toMatchObject({ count: 1, severity: "bad" });
      await client.dead.mute(disk!.group);
      expect(await alarm()).toBeNull();
      expect(await client.dead.unmute(disk!.group)).toBe(true);
      expect(await client.dead.unmute(disk!.group)).toBe(false);
      expect(await client.dead.mutes()).toEqual([muted]);
      const entries = (await client.audit()).entries.map(({ action, reason, details }) => [action, reason, details]);
      expect(entries).toEqual([
        ["error:unmuted", null, `group="Boom: disk full" (${disk!.group})`],
        ["error:muted", null, `group="Boom: disk full" (${disk!.group})`],
        ["error:muted", "fixed in 1.4.1", `group="Boom: ${users!.message}" (${users!.group}) for=1d`],
      ]);
      for (const time of ["0s", "366d", "soon"]) {
        await expect(client.dead.mute(users!.group, { for: time as "1s" })).rejects.toMatchObject({ code: "invalid_input", field: "for" });
      }
      await expect(client.dead.mute("nonsense")).rejects.toMatchObject({ code: "invalid_input", field: "group" });
      await expect(client.dead.unmute("nonsense")).rejects.toMatchObject({ code: "invalid_input", field: "group" });
    });
  });

  describe("the filter failed_only", () => {
    promises("names failed jobs without dead ones, in lists, counts and what is changed", async (client) => {
      await die(client, [{ type: "mail", message: "boom" }]);
      await client.configure("default", { deadLetters: false });
      await die(client, [{ type: "sms", message: "boom" }]);
      const types = async (status: string): Promise<string[]> => (await client.list({ status })).jobs.map(({ type }) => type).sort();
      expect(await types("failed")).toEqual(["mail", "sms"]);
      expect(await types("Failed_Only")).toEqual(["sms"]);
      expect(await client.count({ status: "failed_only" })).toMatchObject({ count: 1 });
      const filter = { status: "failed_only" };
      expect(await client.bulk.preview({ action: "retry", filter })).toMatchObject({ matched: 1, filter: { status: ["failed_only"] } });
      expect(await run(client, { action: "delete", filter })).toMatchObject({ matched: 1, succeeded: 1, failed: 0 });
      expect(await statuses(client)).toEqual({ dead: 1 });
    });
  });

  describe("a whole id that is searched for", () => {
    promises("names one job to whoever changes what is found, also when it is gone", async (client) => {
      const { id } = await client.enqueue("mail");
      await client.cancel(id);
      const other = await client.enqueue("refund", { of: id });
      await client.cancel(other.id);
      expect(await client.bulk.preview({ action: "delete", filter: { q: id } })).toMatchObject({ matched: 1 });
      await run(client, { action: "delete", filter: { q: id } });
      await run(client, { action: "delete", filter: { q: id } });
      expect(await client.get(id)).toBeNull();
      expect(await client.get(other.id)).toMatchObject({ status: "cancelled" });
    });
  });

  describe("bulk operations", () => {
    promises("cancel no delivery: its receiver was promised to hear of the end", async (client) => {
      const { id } = await client.enqueue("a", null, { maxRetries: 0, webhookUrl: "https://example.com/hook" });
      const worker = client.work({ a: () => Promise.reject(new Error("boom")) });
      expect(await client.wait(id)).toMatchObject({ status: "dead" });
      await worker.stop();
      const deliveries = async () =>
        (await client.list({ internal: true })).jobs.filter(({ type }) => type === "millrace:webhook").map(({ status }) => status);
      expect(await deliveries()).toEqual(["pending"]);
      expect(await client.bulk.preview({ action: "cancel" })).toMatchObject({ matched: 0 });
      await run(client, { action: "cancel", all: true });
      expect(await deliveries()).toEqual(["pending"]);
    });

    promises("are previewed without a change", async (client) => {
      await client.enqueueMany([{ type: "a", tags: ["x"] }, { type: "a" }, { type: "b" }]);
      expect(await client.bulk.preview({ action: "cancel", filter: { tag: "x" } })).toEqual({
        action: "cancel",
        filter: { tag: "x", status: ["scheduled", "pending", "retrying", "blocked", "running"] },
        groupWords: null,
        limit: null,
        spread: null,
        matched: 1,
        matchedIsCapped: false,
      });
      expect(await client.bulk.preview({ action: "cancel" })).toMatchObject({ matched: 3 });
      expect(await client.bulk.preview({ action: "delete" })).toMatchObject({ matched: 0 });
      expect((await client.stats()).counts).toMatchObject({ pending: 3 });
      expect(await client.bulk.list()).toEqual({ operations: [], cursor: null });
    });

    promises("cancel, retry and delete all that match, and nothing else", async (client) => {
      await client.enqueueMany([{ type: "a" }, { type: "a", delay: "1h" }, { type: "b" }, { type: "a", queue: "other" }]);
      const cancelled = await run(client, { action: "cancel", filter: { type: "a", queue: "default" } });
      expect(cancelled).toMatchObject({
        action: "cancel",
        filter: { type: "a", queue: "default" },
        status: "completed",
        matched: 2,
        matchedIsCapped: false,
        processed: 2,
        succeeded: 2,
        failed: 0,
        failures: [],
        error: null,
      });
      expect(cancelled.endedAt).toBeGreaterThanOrEqual(cancelled.createdAt);
      expect(await statuses(client)).toEqual({ cancelled: 2, pending: 2 });
      // What somebody cancelled stays so, unless it is named.
      expect(await run(client, { action: "retry", all: true })).toMatchObject({ matched: 0, processed: 0 });
      expect(await run(client, { action: "retry", filter: { status: "cancelled" } })).toMatchObject({ succeeded: 2 });
      expect(await statuses(client)).toEqual({ pending: 4 });
      await run(client, { action: "cancel", filter: { queue: "other" } });
      expect(await run(client, { action: "delete", all: true })).toMatchObject({ matched: 1, succeeded: 1 });
      expect((await client.list({ queue: "other" })).jobs).toEqual([]);
      expect((await client.bulk.list()).operations.map(({ action, succeeded }) => [action, succeeded])).toEqual([
        ["delete", 1],
        ["cancel", 1],
        ["retry", 2],
        ["retry", 0],
        ["cancel", 2],
      ]);
    });

    promises("retry the newest few first, then the others spread over a time", async (client) => {
      const messages = Array.from({ length: 8 }, (_, index) => ({ type: "mail", message: `no user ${index}` }));
      await die(client, messages);
      const newest = (await client.list()).jobs.map(({ id }) => id);
      const first = { action: "retry", all: true, limit: 3 } as const;
      expect(await client.bulk.preview(first)).toMatchObject({ limit: 3, spread: null, matched: 3, matchedIsCapped: false });
      expect(await run(client, first)).toMatchObject({ limit: 3, matched: 3, processed: 3, succeeded: 3 });
      expect(new Set((await client.list({ status: "pending" })).jobs.map(({ id }) => id))).toEqual(new Set(newest.slice(0, 3)));
      const rest = { action: "retry", all: true, spread: "10m" } as const;
      expect(await run(client, rest)).toMatchObject({ limit: null, spread: 600_000, matched: 5, succeeded: 5 });
      const jobs = (await client.list()).jobs.slice(3);
      expect(jobs.map(({ status, retryCount }) => [status, retryCount])).toEqual([
        ["pending", 0],
        ...Array.from({ length: 4 }, () => ["scheduled", 0]),
      ]);
      // Two minutes between one and the next, but for the time that the operation itself took.
      const due = jobs.map(({ scheduledAt }) => scheduledAt!);
      const gaps = due.slice(1).map((at, index) => Math.round((at - due[index]!) / 60_000));
      expect(gaps).toEqual([2, 2, 2, 2]);
    });

    promises("are jobs, but none of the user's: not in queues, figures and counts, and no operation touches one", async (client) => {
      const first = await run(client, { action: "cancel", all: true });
      expect(await run(client, { action: "delete", all: true })).toMatchObject({ matched: 0, processed: 0 });
      expect(await client.bulk.get(first.id)).toEqual(first);
      expect(await client.get(first.id)).toMatchObject({ type: "millrace:bulk", status: "completed", payload: { action: "cancel" } });
      expect(await client.queues()).toEqual([]);
      expect(await client.stats()).toMatchObject({ totalEnqueued: 0, totalProcessed: 0, counts: { completed: 0 } });
    });

    promises("take on thousands of jobs, and leave alone what is created after their start", async (client) => {
      const jobs: JobInput[] = Array.from({ length: 5_200 }, () => ({ type: "many" }));
      await client.enqueueMany(jobs);
      const operation = await client.bulk.start({ action: "cancel", filter: { type: "many" } });
      expect(operation).toMatchObject({ status: "running", matched: 5_200, matchedIsCapped: false, endedAt: null });
      const [late] = await createdAfter(client, operation, { type: "many" });
      await client.wait(operation.id);
      expect(await client.bulk.get(operation.id)).toMatchObject({ status: "completed", processed: 5_200, succeeded: 5_200, failed: 0 });
      expect(await client.get(late!)).toMatchObject({ status: "pending" });
      expect((await client.stats()).counts).toMatchObject({ cancelled: 5_200 });
    });

    promises("are stopped on request, and what was done stays done", async (client) => {
      await client.enqueueMany(Array.from({ length: 20_000 }, () => ({ type: "many" })));
      const { id } = await client.bulk.start({ action: "cancel", filter: { type: "many" } });
      expect(await client.bulk.stop(id)).toMatchObject({ id, status: "stopped", error: null });
      expect(await client.bulk.stop(id)).toMatchObject({ id, status: "stopped", error: null });
      // Who worked it has heard of it once there is no worker any more.
      await until(async () => (await client.workers({ internal: true })).length === 0);
      const { processed, endedAt, matched } = (await client.bulk.get(id))!;
      expect(endedAt).not.toBeNull();
      const { cancelled } = (await client.stats()).counts;
      expect(cancelled).toBeLessThan(20_000);
      expect(matched).toBeGreaterThanOrEqual(10_000);
      // The batch that was under way is done, and was not counted any more.
      expect(cancelled - processed).toBeGreaterThanOrEqual(0);
      expect(cancelled - processed).toBeLessThanOrEqual(500);
    });

    promises("say what the error of a group is, also when no job has it any more", async (client) => {
      await die(client, [
        { type: "mail", message: "no user 1" },
        { type: "mail", message: "no user 1" },
      ]);
      const [found] = (await client.dead.groups()).groups;
      const words = `${found!.name}: ${found!.message}`;
      const request = { action: "delete", filter: { group: found!.group } } as const;
      expect(await client.bulk.preview(request)).toMatchObject({ groupWords: words, matched: 2 });
      const { id } = await run(client, request);
      expect(await client.bulk.get(id)).toMatchObject({ groupWords: words, succeeded: 2 });
      const [entry] = (await client.audit({ action: "bulk:started" })).entries;
      expect(entry!.details).toContain(`group="${words}" (${found!.group})`);
      expect(await client.bulk.preview(request)).toMatchObject({ groupWords: null, matched: 0 });
      expect(await client.bulk.preview({ action: "delete", filter: { tag: "none" } })).toMatchObject({ groupWords: null });
    });

    promises("refuse what cannot be meant", async (client) => {
      const refused = async (request: unknown, field: string): Promise<void> => {
        await expect(client.bulk.start(request as BulkRequest)).rejects.toMatchObject({ code: "invalid_input", field });
        await expect(client.bulk.preview(request as BulkRequest)).rejects.toMatchObject({ code: "invalid_input", field });
      };
      await refused({ action: "explode", filter: { type: "a" } }, "action");
      await refused({ action: "retry", filter: { status: "pending" } }, "filter.status");
      await refused({ action: "delete", filter: { status: ["dead", "running"] } }, "filter.status");
      await refused({ action: "cancel", filter: { type: "not a type" } }, "filter.type");
      await refused({ action: "cancel", filter: { limit: 5 } }, "filter.limit");
      await refused({ action: "cancel", filter: { type: "a" }, all: "yes" }, "all");
      await refused({ action: "cancel", filter: { type: "a" }, limit: 0 }, "limit");
      await refused({ action: "cancel", filter: { type: "a" }, spread: "10m" }, "spread");
      await refused({ action: "retry", filter: { type: "a" }, spread: "25h" }, "spread");
      for (const action of ["retry", "cancel", "delete"] as const) {
        for (const filter of [undefined, {}, { type: undefined }, { where: {} }]) {
          await expect(client.bulk.start({ action, filter })).rejects.toMatchObject({ code: "invalid_input", field: "filter" });
        }
      }
      expect(await client.bulk.list()).toEqual({ operations: [], cursor: null });
    });

    promises("are listed page by page, each once, newest first", async (client) => {
      const started: string[] = [];
      for (const tag of ["a", "b", "c", "d", "e"]) started.unshift((await run(client, { action: "cancel", filter: { tag } })).id);
      const pages: string[][] = [];
      let cursor: string | null | undefined;
      do {
        const page = await client.bulk.list({ limit: 2, cursor });
        pages.push(page.operations.map(({ id }) => id));
        cursor = page.cursor;
      } while (cursor !== null);
      expect(pages.flat()).toEqual(started);
      expect(pages.slice(0, 2).map(({ length }) => length)).toEqual([2, 2]);
      expect((await client.bulk.list()).operations.map(({ id }) => id)).toEqual(started);
      for (const limit of [0, 101, 1.5, "many"]) {
        await expect(client.bulk.list({ limit: limit as number })).rejects.toMatchObject({ code: "invalid_input", field: "limit" });
      }
      await expect(client.bulk.list({ cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_cursor" });
      await expect(client.bulk.list({ status: "running" } as object)).rejects.toMatchObject({ code: "invalid_input", field: "status" });
    });

    promises("that are not there are told so, and a job is none", async (client) => {
      const { id } = await client.enqueue("t");
      for (const none of [MISSING_ID, id]) {
        expect(await client.bulk.get(none)).toBeNull();
        await expect(client.bulk.stop(none)).rejects.toMatchObject({ code: "not_found", jobId: none });
      }
      expect(await client.get(id)).toMatchObject({ status: "pending" });
      await expect(client.bulk.get("nonsense")).rejects.toMatchObject({ code: "invalid_input", field: "id" });
    });

    promises("of one id are one, however often they are sent", async (client) => {
      await client.enqueue("t");
      const first = await client.bulk.start({ action: "cancel", filter: { type: "t" } });
      await client.wait(first.id);
      const again = await client.bulk.start({ action: "cancel", filter: { type: "t" } }, { id: first.id });
      expect(again).toMatchObject({ id: first.id, status: "completed", succeeded: 1 });
      expect((await client.bulk.list()).operations).toHaveLength(1);
      const other = client.bulk.start({ action: "cancel", filter: { type: "t" } }, { id: MISSING_ID });
      await expect(other).rejects.toMatchObject({ code: "invalid_input", field: "id" });
    });
  });
}

/** Begins an operation and waits for its end. */
async function run(client: Client, request: BulkRequest): Promise<BulkOperation> {
  const { id } = await client.bulk.start(request);
  await client.wait(id);
  return (await client.bulk.get(id))!;
}

/** Makes a job that is certainly younger than the operation, by the store's own clock. */
async function createdAfter(client: Client, { createdAt }: BulkOperation, job: JobInput): Promise<string[]> {
  for (;;) {
    const [made] = await client.enqueueMany([{ ...job, type: "clock" }]);
    if (made.ok && made.job.createdAt > createdAt) break;
  }
  const results = await client.enqueueMany([job]);
  return results.flatMap((result) => (result.ok ? [result.job.id] : []));
}

async function statuses(client: Client): Promise<Partial<Record<Status, number>>> {
  const { counts } = await client.stats();
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

/** Lets a job of each type die of an error with its message. */
async function die(client: Client, deaths: readonly { readonly type: string; readonly message: string }[]): Promise<void> {
  for (const { type, message } of deaths) {
    await client.enqueue(type);
    const claim = { workerId: "w1", queues: ["default"], types: "*" as const, limit: 1, leaseMs: 30_000, turn: 1, again: false };
    const { jobs } = await client.leases.exchange([], claim);
    const error = { name: "Boom", message, stack: null, kind: "error" } as const;
    await client.leases.exchange(
      jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "discard", error, runMs: 1 } })),
      null,
    );
  }
}
