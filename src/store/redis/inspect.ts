import { REFUSED_AT_OPENING_MS } from "../../core/work-limits.ts";
import type { StoreFinding, StoreReport } from "../../core/store-report.ts";
import { systemClock } from "../../lib/clock.ts";
import { formOf } from "./form.ts";
import { openIoredis } from "./ioredis-driver.ts";
import { Keys } from "./keys.ts";
import { FORM } from "./layout.ts";
import { queueNames } from "./queues.ts";
import { infoField, isOlder, OLDEST, readInfo } from "./requirements.ts";
import { Session } from "./session.ts";
import { parseRedisUrl, placeOf } from "./url.ts";

/** Reports on the server or Cluster of a `redis:` URL, over its own connections. */
export async function inspectRedis(url: string, deadlineMs: number): Promise<StoreReport> {
  const parsed = parseRedisUrl(url);
  const driver = await openIoredis(parsed, deadlineMs);
  const keys = new Keys(parsed.prefix);
  const session = new Session(driver, { clock: systemClock, deadlineMs, place: placeOf(parsed), refusedMs: REFUSED_AT_OPENING_MS });
  try {
    const findings: StoreFinding[] = [];
    const infos = await readInfo(session, (message) => findings.push({ grade: "doubtful", message }));
    return {
      engine: engineOf(infos[0] ?? ""),
      schema: { found: await formOf(session, keys, await queueNames(session, keys)), wanted: FORM },
      now: await session.now(),
      findings: [...findings, ...infos.flatMap(findingsOf)],
    };
  } finally {
    driver.close();
  }
}

function engineOf(info: string): string {
  const valkey = infoField(info, "valkey_version");
  return valkey === undefined ? `Redis ${infoField(info, "redis_version") ?? "of unknown version"}` : `Valkey ${valkey}`;
}

function findingsOf(info: string): StoreFinding[] {
  return [versionFinding(infoField(info, "redis_version")), evictionFinding(infoField(info, "maxmemory_policy")), durabilityFinding(info)];
}

function versionFinding(version: string | undefined): StoreFinding {
  if (version === undefined)
    return { grade: "doubtful", message: "the server does not report its version: make sure that it is 6.2 or newer" };
  return isOlder(version, OLDEST)
    ? { grade: "bad", message: `version ${version} is too old: Millrace needs ${OLDEST} or newer` }
    : { grade: "good", message: `version ${version} is ${OLDEST} or newer` };
}

function evictionFinding(policy: string | undefined): StoreFinding {
  return policy === "noeviction"
    ? { grade: "good", message: "maxmemory-policy is noeviction: no job is lost when memory is full" }
    : {
        grade: "bad",
        message: `maxmemory-policy is ${policy ?? "unknown"}: run "CONFIG SET maxmemory-policy noeviction", or jobs may be dropped`,
      };
}

function durabilityFinding(info: string): StoreFinding {
  return infoField(info, "aof_enabled") === "1"
    ? { grade: "good", message: "append-only file is on: appendfsync decides what survives a crash" }
    : { grade: "doubtful", message: `append-only file is off: a crash loses all jobs since the last snapshot. Set "appendonly yes"` };
}
