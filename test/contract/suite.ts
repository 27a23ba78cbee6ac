import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect.ts";
import { listen } from "../../src/http/listen.ts";
import { createServer } from "../../src/http/server.ts";
import { askRoute, type Got } from "../unit/http/open-api.ts";
import { type RouteName, splitName } from "../../src/http/contract.ts";
import { type Case, World } from "./case.ts";
import { casesOf, NAMES, promisesOf, reachesStore } from "./cases.ts";
import { counted } from "./counted-client.ts";
import { refusalOf } from "./upgrade.ts";

/**
 * Asks every route for every status and problem that the contract declares for it, and holds each answer against its schema. With `onlyStore`
 * those are left out that never reach a store: another engine proves them.
 */
export function contractSuite(engine: string, url: () => Promise<string>, { onlyStore = false } = {}): void {
  describe(`the contract on ${engine}`, () => {
    let storeUrl: string;
    let world: World;
    beforeAll(async () => {
      storeUrl = await url();
      world = new World(await connect(storeUrl, { upkeep: true }));
    });
    afterAll(() => world.client.close({ grace: 0 }));

    async function clientOf({ connect: options }: Case): Promise<Client> {
      if (options === undefined) return world.client;
      const client = await connect(storeUrl, options);
      onTestFinished(() => client.close());
      return client;
    }

    async function answer(name: RouteName, each: Case, onCall: () => void): Promise<Got<unknown>> {
      const asked = await each.ask(world);
      const { over = (client) => client } = each;
      let isAsked = false;
      const client = counted(await clientOf(each), () => isAsked && onCall());
      const server = createServer(over(client), each.server);
      const port = await listen(server, { port: 0 });
      onTestFinished(async () => {
        await server.drain();
        await port.close({ graceMs: 0 });
      });
      each.before?.(server);
      isAsked = true;
      const ask = (): Promise<Got<unknown>> => askRoute((path, init) => fetch(port.url + path, init), name, asked);
      if (each.upgrade !== true) {
        let got = await ask();
        for (let asks = 1; got.status !== each.status && asks < (each.times ?? 1); asks++) got = await ask();
        return got;
      }
      const refusal = await refusalOf(port.url + splitName(name).path, asked.headers);
      return refusal === null ? { status: 101, headers: new Headers(), body: null } : askRoute(async () => refusal, name, asked);
    }

    describe.each(NAMES)("%s", (name) => {
      for (const promised of promisesOf(name)) {
        if (onlyStore && !reachesStore(promised)) continue;
        const { status, code } = promised;
        test(`answers ${code ?? status}`, async () => {
          for (const each of casesOf(promised)) {
            let calls = 0;
            const got = await answer(name, each, () => void calls++);
            if (!reachesStore(promised)) expect(calls).toBe(0);
            expect([got.status, code === null ? undefined : (got.body as { code?: string }).code]).toEqual([
              each.status,
              code ?? undefined,
            ]);
            expect(JSON.stringify(got.body)).not.toMatch(/hush|inside\.test|secrets|\bat .*\.ts:/);
          }
        });
      }
    });
  });
}
