import type { Client } from "../../../src/client/client.ts";
import { connect, type ConnectOptions } from "../../../src/connect.ts";
import { listen } from "../../../src/http/listen.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/http/server.ts";
import { buildDashboard } from "../../../scripts/build-dashboard.ts";
import { servePage } from "./page-files.ts";

/** A server with the dashboard, on a store of its own. */
export interface OpenDashboard {
  readonly client: Client;
  /** Of the page, with a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Ends the server as a crash would, and leaves the store open. */
  kill(): Promise<void>;
  /** Listens again, on the same port. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

export interface DashboardOptions {
  readonly storeUrl: string;
  readonly server?: ServerOptions;
  readonly connect?: ConnectOptions;
  /** Where server and page are mounted, such as `/admin/jobs`. */
  readonly basePath?: string;
  readonly port?: number;
}

/** Opens a store, a server over it, and the built page beside it. */
export async function openDashboard({
  storeUrl,
  server: options = {},
  connect: connectOptions = {},
  basePath = "",
  port = 0,
}: DashboardOptions): Promise<OpenDashboard> {
  const folder = await buildDashboard();
  const client = await connect(storeUrl, { upkeep: true, ...connectOptions });
  const serve = (): Server => {
    const server = createServer(client, { ...options, basePath });
    return {
      ...server,
      listener: (incoming, outgoing) => {
        if (!servePage(folder, `${basePath}/dashboard`, incoming, outgoing)) server.listener(incoming, outgoing);
      },
    };
  };
  let listening = await listen(serve(), { port });
  const opened = listening.port;
  return {
    client,
    port: opened,
    url: `${listening.url}${basePath}/dashboard/`,
    kill: () => listening.close({ graceMs: 0 }),
    async revive() {
      listening = await listen(serve(), { port: opened });
    },
    async close() {
      await listening.close({ graceMs: 0 });
      await client.close({ grace: 0 });
    },
  };
}
