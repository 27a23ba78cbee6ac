/** MUTED ERROR GROUPS of a client over a store. */
import { auditEntry, detailsOf } from "../core/audit.ts";
import { formatDuration } from "../core/duration.ts";
import { readGroup } from "../core/error-group.ts";
import type { ErrorGroup, FoundGroup } from "../core/error-tally.ts";
import { CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { readMuteTime } from "../core/mute.ts";
import type { Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { DeadLetters } from "./client.ts";
import { auditedGroup, readGroupWords } from "./group-words.ts";
import { readOptions } from "./refusals.ts";

export function createMutes(parts: ClientParts): Pick<DeadLetters, "mute" | "unmute" | "mutes"> {
  const { store } = parts;
  return {
    async mute(given, options) {
      const group = readGroup(given);
      const { for: time, ...who } = readOptions(options, "the options of a mute", ["for", ...CHANGE_OPTIONS]);
      const ttlMs = readMuteTime(time);
      const actor = readActor(who, parts.actor);
      await store.mute(group, actor, ttlMs);
      const named = auditedGroup(group, await readGroupWords(store, group));
      const details = detailsOf({ ...named, for: ttlMs === null ? undefined : formatDuration(ttlMs) });
      await parts.writeAudit([auditEntry("error:muted", actor, { details })]);
      const muted = (await store.mutes()).find((mute) => mute.group === group);
      // Somebody else has unmuted it since, or its time is already over.
      return muted ?? { group, ...actor, at: parts.clock.now(), until: parts.clock.now() };
    },
    async unmute(given, options) {
      const group = readGroup(given);
      const actor = readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), parts.actor);
      const isMuted = (await store.mutes()).some((mute) => mute.group === group);
      await store.unmute(group);
      if (isMuted) {
        const details = detailsOf(auditedGroup(group, await readGroupWords(store, group)));
        await parts.writeAudit([auditEntry("error:unmuted", actor, { details })]);
      }
      return isMuted;
    },
    mutes: () => store.mutes(),
  };
}

/** The groups with their mutes, muted ones last. */
export async function withMutes(store: Pick<Store, "mutes">, groups: readonly FoundGroup[]): Promise<ErrorGroup[]> {
  if (groups.length === 0) return [];
  const mutes = new Map((await store.mutes()).map((mute) => [mute.group, mute]));
  const all = groups.map((found) => ({ ...found, muted: mutes.get(found.group) ?? null }));
  return all.sort((a, b) => Number(a.muted !== null) - Number(b.muted !== null));
}

/** How many dead or failed jobs are of muted groups, among those that `errorCounts` looks at. Looks at no job unless a group is muted. */
export async function countMuted(
  store: Pick<Store, "mutes" | "errorCounts">,
  since: number,
): Promise<{ readonly dead: number; readonly failedSince: number }> {
  const muted = (await store.mutes()).map(({ group }) => group);
  if (muted.length === 0) return { dead: 0, failedSince: 0 };
  const [dead, failed] = await Promise.all([
    store.errorCounts({ status: ["dead"] }),
    store.errorCounts({ status: ["dead", "failed"], endedFrom: since }),
  ]);
  const countIn = (counts: ReadonlyMap<string, number>): number => muted.reduce((sum, group) => sum + (counts.get(group) ?? 0), 0);
  return { dead: countIn(dead), failedSince: countIn(failed) };
}
