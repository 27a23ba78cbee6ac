import type { Client } from "../../../src/client/client.ts";
import { connect, type ConnectOptions } from "../../../src/connect.ts";
import { listen } from "../../../src/http/listen.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/http/server.ts";
import { buildDashboard } from "../../../scripts/build-dashboard.ts";
import { servePage } from "./page-files.ts";
import { answerSignIn, type SignInRules } from "./sign-in.ts";

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
  readonly signIn?: SignInRules;
  readonly connect?: ConnectOptions;
  /** Where server and page are mounted, such as `/admin/jobs`. */
  readonly basePath?: string;
}

/** Opens a store, a server over it, and the built page beside it. */
export async function openDashboard(options: DashboardOptions): Promise<OpenDashboard> {
  const { storeUrl, server: serverOptions = {}, signIn = {}, basePath = "" } = options;
  const folder = await buildDashboard();
  const client = await connect(storeUrl, { upkeep: true, ...options.connect });
  const mount = `${basePath}/dashboard`;
  const serve = (): Server => {
    const server = createServer(client, { ...serverOptions, basePath });
    return {
      ...server,
      listener: (incoming, outgoing) => {
        const asked = new URL(incoming.url ?? "/", "http://localhost").pathname.slice(mount.length + 1);
        if (incoming.url?.startsWith(`${mount}/`) && answerSignIn(signIn, asked, incoming, outgoing)) return;
        if (!servePage(folder, mount, incoming, outgoing)) server.listener(incoming, outgoing);
      },
    };
  };
  let listening = await listen(serve(), { port: 0 });
  const { port, url } = listening;
  return {
    client,
    url: `${url}${mount}/`,
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
