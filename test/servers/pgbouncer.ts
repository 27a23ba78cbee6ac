import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { identity } from "./postgres.ts";

const PROGRAM = "pgbouncer";

/** Whether the pooler is installed. It is no part of the set-up. */
export const HAS_PGBOUNCER: boolean = spawnSync(PROGRAM, ["--version"]).status === 0;

/** A pooler that hands connections from one transaction to the next. */
export interface Pooler {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/** Starts a pooler before a server of this machine, with so few connections that they go from hand to hand. */
export async function startPgbouncer(serverPort: number): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-pgbouncer-"));
  const port = await freePort();
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${serverPort} user=postgres`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 3",
    "max_client_conn = 200",
  ];
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, settings.join("\n"));
  const { uid, gid } = identity();
  if (uid !== undefined) for (const path of [folder, file]) chownSync(path, uid, gid!);
  chmodSync(folder, 0o700);
  // It ends with its input, so also when this process is killed.
  const guard = spawn(
    "/bin/sh",
    ["-c", `"$@" & pooler=$!; read -r _; kill -TERM $pooler; wait $pooler; rm -rf "$FOLDER"`, "guard", PROGRAM, "-q", file],
    {
      stdio: ["pipe", "ignore", "ignore"],
      ...identity(),
      env: { ...process.env, FOLDER: folder },
    },
  );
  const gone = once(guard, "exit");
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilListening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, stop };
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; !(await isListening(port)); tries++) {
    if (tries === 500) throw new Error("pgbouncer does not start");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
