import { once } from "node:events";
import { createServer, type Server } from "node:net";

// Ports of outgoing connections begin here on Linux. One of them could take a port that was found free before the program that it is meant for listens.
const FIRST_OUTGOING = 32_768;
const BUS_DISTANCE = 10_000;
const FIRST_WITH_BUS = 10_000;
const FIRST_WITHOUT_BUS = 26_384;
const CHOICES = FIRST_OUTGOING - FIRST_WITHOUT_BUS;

/** A port that nobody listens to. No other test gets it while this process lives. */
export function freePort(): Promise<number> {
  return find((index) => [FIRST_WITHOUT_BUS + index]);
}

/** The same for a Redis server: the port 10,000 above it, which the nodes of a Cluster use between them, is free too. */
export function freeRedisPort(): Promise<number> {
  return find((index) => [FIRST_WITH_BUS + index, FIRST_WITH_BUS + index + BUS_DISTANCE]);
}

async function find(portsOf: (index: number) => readonly [number, ...number[]]): Promise<number> {
  for (;;) {
    const ports = portsOf(Math.floor(Math.random() * CHOICES));
    if ((await reserve(ports[0])) && (await Promise.all(ports.map(isFree))).every(Boolean)) return ports[0];
  }
}

/** Whether no other process has it. The name of the socket is in no folder, and is gone with this process. */
async function reserve(port: number): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const server = await listen(createServer().unref(), { path: `\0millrace-test-port-${port}` });
  return server !== null;
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(createServer(), { port, host: "127.0.0.1" });
  if (server === null) return false;
  server.close();
  await once(server, "close");
  return true;
}

function listen(
  server: Server,
  place: { readonly port: number; readonly host: string } | { readonly path: string },
): Promise<Server | null> {
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(place, () => resolve(server));
  });
}
