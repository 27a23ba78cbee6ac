import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identity, type OwnPostgresServer, POSTGRES_REQUEST, startOwnPostgres } from "../../servers/postgres.ts";
import { type Stage, storeDeed } from "../deed.ts";
import type { Guard } from "../guard.ts";
import { SmallDisk } from "../small-disk.ts";
import { BLOCKED_IN_TRANSACTION, LOOP_BLOCKED } from "../strangers.ts";
import { diskFull, NO_SMALL_DISK } from "./disk-full.ts";
import { asOperator, PostgresProber } from "./postgres-operator.ts";
import { heldRows, readOnlySessions, stalledCommits } from "./postgres-strangers.ts";
import type { Place } from "./place.ts";
import { Wires } from "./wires.ts";

const DATABASE = "torture";
/** Who the processes of a run are; the one who looks is somebody else. */
const ROLE = "crew";

/**
 * A PostgreSQL of our own, whose commits wait for the disk. Its tables are on the small disk; its log is on one that stays roomy, because
 * without space for the log the server itself goes down, and that is what killing it tries.
 */
export async function postgresPlace(guard: Guard): Promise<Place> {
  const server = await startOwnPostgres({ fsync: true });
  try {
    const disk = SmallDisk.mount(guard);
    await makeDatabase(server, disk);
    const url = new URL(server.url);
    url.pathname = `/${DATABASE}`;
    const crewUrl = new URL(url);
    crewUrl.username = ROLE;
    const prober = new PostgresProber(url.href);
    // After a request the server says that it is ready for the next one, and not in a transaction: what was asked is committed.
    const isWhole = (answer: Buffer): boolean => answer.subarray(-6).equals(Buffer.from("Z\0\0\0\u0005I", "latin1"));
    const wires = new Wires(server.port, POSTGRES_REQUEST, /\bcommit\b/i, {
      isWhole,
    });
    return {
      url: url.href,
      hasMachineTime: true,
      deeds: [
        ...wires.deeds,
        storeDeed("store killed", (stage) => killStore(server, stage)),
        storeDeed("connections ended by the store", () => endBackends(server)),
        storeDeed("commits stalled", (stage) => stalledCommits(server.url, stage), { isLong: true }),
        readOnlySessions(server.url, ROLE),
        ...diskFull(disk),
      ],
      strangers: [LOOP_BLOCKED, BLOCKED_IN_TRANSACTION, ...heldRows(url.href)],
      untried: [...(disk === null ? [NO_SMALL_DISK] : []), "the time of the store stepped: it is the machine's, which is not ours to set"],
      reach: (process) => wires.lay(process, crewUrl.href),
      probe: () => prober.probe(),
      heal: async () => {
        wires.heal();
        disk?.free();
      },
      async stop() {
        wires.close();
        await prober.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function makeDatabase(server: OwnPostgresServer, disk: SmallDisk | null): Promise<void> {
  await asOperator(server.url, async (client) => {
    await client.query(`create role ${ROLE} superuser login`);
    if (disk === null) return client.query(`create database ${DATABASE} encoding 'UTF8' template template0`);
    const path = join(disk.path, "tables");
    mkdirSync(path);
    const { uid, gid } = identity();
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
    chmodSync(path, 0o700);
    await client.query(`create tablespace small location '${path}'`);
    return client.query(`create database ${DATABASE} encoding 'UTF8' template template0 tablespace small`);
  });
}

async function killStore(server: OwnPostgresServer, { random }: Stage): Promise<boolean> {
  await server.kill();
  await sleep(random.int(0, 1_500));
  await server.restart();
  return true;
}

function endBackends(server: OwnPostgresServer): Promise<boolean> {
  return asOperator(server.url, async (client) => {
    const { rows } = await client.query<{ ended: boolean }>(
      "select pg_terminate_backend(pid) as ended from pg_stat_activity where application_name = 'millrace'",
    );
    return rows.some(({ ended }) => ended);
  });
}
