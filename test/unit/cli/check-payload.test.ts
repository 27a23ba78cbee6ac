import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect } from "../../../src/connect.ts";
import { until } from "../../faults/until.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

const mail = defineJob({
  type: "mail",
  jsonSchema: { type: "object", required: ["to"], properties: { to: { type: "string" } } },
});
const GOOD = '{"to":"ann"}';

/** A store with a live worker that publishes the schema of `mail` for the queue `a`. */
async function storeWithWorker(): Promise<{ url: string; cancelled: string }> {
  const url = `sqlite:${join(folderOfOwn(), "jobs.db")}`;
  const client = await connect(url);
  onTestFinished(() => client.close({ grace: 0 }));
  const { id } = await client.enqueue("mail", {}, { queue: "a", delay: "1h" });
  await client.cancel(id);
  client.work([mail.handle(() => null)], { queues: ["a"] });
  await until(async () => (await client.types()).some(({ schema }) => schema !== null));
  return { url, cancelled: id };
}

test("on a store, a payload that fits no schema of the live workers is refused, as a server does", async () => {
  const { url, cancelled } = await storeWithWorker();
  const commands = {
    enqueue: ["enqueue", "mail", "--queue", "a"],
    schedules: ["schedules", "create", "s", "--every", "1h", "--type", "mail", "--queue", "a"],
    retry: ["retry", cancelled],
  };
  for (const [name, command] of Object.entries(commands)) {
    const ended = await typeCommand([...command, "--payload", '{"to":7}', "--url", url]);
    expect({ name, ...ended }).toMatchObject({
      name,
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/payload\.to .*workers publish/) as string,
    });
    expect(await typeCommand([...command, "--payload", GOOD, "--url", url])).toMatchObject({ code: 0 });
  }
  const changed = await typeCommand(["schedules", "update", "s", "--payload", "{}", "--url", url]);
  expect(changed).toMatchObject({ code: 2, stderr: expect.stringContaining("payload.to is required") as string });
});

test("in a queue that no such worker serves, any payload is accepted", async () => {
  const { url } = await storeWithWorker();
  expect(await typeCommand(["enqueue", "mail", "{}", "--url", url])).toMatchObject({ code: 0 });
});

test("on a store, a signal that does not fit the schema of the open wait is refused, as a server does", async () => {
  const url = `sqlite:${join(folderOfOwn(), "jobs.db")}`;
  const client = await connect(url);
  onTestFinished(() => client.close({ grace: 0 }));
  const { id } = await client.enqueue("onboard");
  const schema = z.object({ by: z.string() });
  client.work({ onboard: (_payload, ctx) => ctx.waitFor("approval", { schema }) });
  await until(async () => (await client.get(id))?.status === "blocked");
  const refused = await typeCommand(["signal", id, "approval", "--payload", '{"by":7}', "--url", url]);
  expect(refused).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/payload\.by .*the schema of the wait "approval"/) as string,
  });
  expect(await typeCommand(["signal", id, "other", "--payload", '{"by":7}', "--url", url])).toMatchObject({ code: 0 });
  expect(await typeCommand(["signal", id, "approval", "--payload", '{"by":"ann"}', "--url", url])).toMatchObject({ code: 0 });
  expect((await client.wait(id)).result).toEqual({ by: "ann" });
});
