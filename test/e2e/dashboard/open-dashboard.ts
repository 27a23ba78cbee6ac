import type { Client } from "../../../src/client/client.ts";
import { connect, type ConnectOptions } from "../../../src/connect.ts";
import { listen } from "../../../src/http/listen.ts";
import { createServer, type DashboardUser, type ServerOptions } from "../../../src/http/server.ts";
import { buildDashboard } from "../../../scripts/build-dashboard.ts";

/** A server with the dashboard, on a store of its own. */
export interface OpenDashboard {
  readonly client: Client;
  /** Of the page, with a slash at its end. */
  readonly url: string;
  /** Ends the server as a crash would, and leaves the store open. */
  readonly kill: () => Promise<void>;
  /** Listens again, on the same port. */
  readonly revive: () => Promise<void>;
  close(): Promise<void>;
}

export interface DashboardOptions {
  readonly storeUrl: string;
  readonly server?: ServerOptions;
  readonly users?: readonly DashboardUser[];
  readonly connect?: ConnectOptions;
  /** Default: a free one. */
  readonly port?: number;
  /** Where server and page are mounted, such as `/admin/jobs`. */
  readonly basePath?: string;
}

/** Opens a store, and a server over it that has the built page. */
export async function openDashboard(options: DashboardOptions): Promise<OpenDashboard> {
  const { storeUrl, server: serverOptions = {}, users = [], basePath = "" } = options;
  const folder = await buildDashboard();
  const client = await connect(storeUrl, { upkeep: true, ...options.connect });
  const serve = () => createServer(client, { ...serverOptions, basePath, dashboard: { folder, users } });
  let listening = await listen(serve(), { port: options.port ?? 0 });
  const { port, url } = listening;
  return {
    client,
    url: `${url}${basePath}/dashboard/`,
    kill: () => listening.close({ graceMs: 0 }),
    async revive() {
      listening = await listen(serve(), { port });
    },
    async close() {
      await listening.close({ graceMs: 0 });
      await client.close({ grace: 0 });
    },
  };
}
