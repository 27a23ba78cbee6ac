import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect.ts";
import { createServer } from "../../src/http/server.ts";
import { listen } from "../../src/http/listen.ts";

/** A store for one test. */
export interface FreshStore {
  readonly url: string;
  readonly destroy?: () => void | Promise<void>;
}

/** Where the suite gets its clients. */
export interface ClientSource {
  readonly name: string;
  /** What cannot be done over a server is refused there, and the suite proves that instead. */
  readonly isRemote: boolean;
  open(): Promise<OpenedClient>;
}

export interface OpenedClient {
  readonly client: Client;
  /** A client over the store itself, which may do what nobody can over a server: work what is our own. */
  readonly direct: Client;
  /** Another client of the same store. */
  second(): Promise<Client>;
  close(): Promise<void>;
}

/** Clients over the store itself. */
export function localSource(engine: string, fresh: () => FreshStore | Promise<FreshStore>): ClientSource {
  return {
    name: `over ${engine}`,
    isRemote: false,
    async open() {
      const store = await fresh();
      const clients: Client[] = [];
      const open = async (): Promise<Client> => {
        // A store in memory is its client's own: who asks for a second gets the first.
        if (store.url === "memory:" && clients[0] !== undefined) return clients[0];
        const client = await connect(store.url, { upkeep: true });
        clients.push(client);
        return client;
      };
      const client = await open();
      return {
        client,
        direct: client,
        second: open,
        close: async () => {
          await Promise.all(clients.map((client) => client.close()));
          await store.destroy?.();
        },
      };
    },
  };
}

const KEY = "the-key-of-the-tests";

/** Clients of a server that listens on a port, over such a store. */
export function remoteSource(engine: string, fresh: () => FreshStore | Promise<FreshStore>): ClientSource {
  return {
    name: `of a server over ${engine}`,
    isRemote: true,
    async open() {
      const store = await fresh();
      const local = await connect(store.url, { upkeep: true });
      const server = createServer(local, { keys: [KEY] });
      const port = await listen(server, { port: 0 });
      const clients: Client[] = [];
      const open = async (): Promise<Client> => {
        const client = await connect(port.url, { apiKey: KEY });
        clients.push(client);
        return client;
      };
      return {
        client: await open(),
        direct: local,
        second: open,
        close: async () => {
          await Promise.all(clients.map((client) => client.close()));
          await server.drain();
          await port.close();
          await local.close();
          await store.destroy?.();
        },
      };
    },
  };
}

export function memoryStore(): FreshStore {
  return { url: "memory:" };
}

export function sqliteStore(): FreshStore {
  const folder = mkdtempSync(join(tmpdir(), "millrace-client-"));
  return { url: `sqlite:${join(folder, "jobs.db")}`, destroy: () => rmSync(folder, { recursive: true, force: true }) };
}
