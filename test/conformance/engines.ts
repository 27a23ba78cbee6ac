import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Engine } from "./harness.ts";

const DEADLINE_MS = 10_000;

export const memory: Engine = {
  name: "memory",
  forgets: "the data is the store itself, so there is no second connection to it either",
  async open({ clock }) {
    const store = await openStore("memory:", { clock, deadlineMs: DEADLINE_MS });
    return { store, destroy: () => store.close() };
  },
};

/** A fresh file for each store; `?...` of the URL can be given. */
export function sqlite(query = ""): Engine {
  return {
    name: "sqlite",
    hasTransactions: true,
    async open({ clock }) {
      const folder = mkdtempSync(join(tmpdir(), "millrace-conformance-"));
      const path = join(folder, "file.db");
      const stores: Store[] = [];
      const own: DatabaseSync[] = [];
      const reopen = async (): Promise<Store> => {
        const store = await openStore(`sqlite:${path}${query}`, { clock, deadlineMs: DEADLINE_MS });
        stores.push(store);
        return store;
      };
      return {
        store: await reopen(),
        reopen,
        async begin() {
          const db = new DatabaseSync(path, { timeout: 1_000 });
          own.push(db);
          db.exec("begin immediate");
          return { tx: db, commit: async () => db.exec("commit"), rollback: async () => db.exec("rollback") };
        },
        async destroy() {
          for (const db of own) if (db.isOpen) db.close();
          await Promise.all(stores.map((store) => store.close()));
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
  };
}
