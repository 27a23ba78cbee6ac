// Whether a terminal of 80 columns shows what matters, and one of 140 everything.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { textWidth } from "../../../src/cli/text-width.ts";
import { connect } from "../../../src/connect.ts";
import { until } from "../../faults/until.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

const TYPE = "customers:newsletter:monthly:send-to-everybody";
const ERROR = "Mailbox unavailable: the server said 550 5.1.1";

/** A folder with a store that has a dead job, a schedule and a worker with long names. */
async function filledFolder(): Promise<string> {
  const cwd = folderOfOwn();
  const client = await connect(`sqlite:${join(cwd, "millrace.db")}`);
  const dead = Promise.withResolvers<void>();
  client.work(
    {
      [TYPE]: () => {
        throw new Error(ERROR);
      },
    },
    { queues: ["newsletters-of-the-shop"] },
  );
  void (async () => {
    for await (const event of client.events()) if (event.event === "job:dead") return dead.resolve();
  })();
  await client.enqueue(TYPE, null, { queue: "newsletters-of-the-shop", maxRetries: 0 });
  await client.schedules.upsert({ name: "the-newsletter-of-every-month", cron: "0 3 1 * *", timeZone: "Europe/Berlin", type: TYPE });
  await dead.promise;
  await client.close();
  return cwd;
}

const CASES: [args: string[], at80: RegExp[], at140: RegExp[]][] = [
  [
    ["list", "--status", "dead"],
    [/^ID .*TYPE .*ERROR$/, /custo[^ ]*…[^ ]*body/, /Mailbox unavailable/],
    [/^ID +TYPE +QUEUE +PRIORITY +STATUS +ATTEMPT +AGE +TOOK +ERROR$/, /Mailbox unavailable/],
  ],
  [["schedules"], [/^NAME .*WHEN .*NEXT$/, /\(in \d+d\)$/, /^the[^ ]*…[^ ]*th /], [/^NAME .*NEXT/, /\(in \d+d\)/]],
  [["queues"], [/^QUEUE +STATE .*PENDING .*RUNNING .*DEAD/], [/^QUEUE +STATE .*PENDING .*RUNNING .*DEAD .*PER MINUTE/]],
  [["doctor"], [/^CHECK +GRADE +FOUND$/, /^node +good +Millrace \S+ on Node /], [/^CHECK +GRADE +FOUND$/]],
];

describe("a terminal", () => {
  test("shows what matters at 80 columns, and more at 140", async () => {
    const cwd = await filledFolder();
    for (const [args, at80, at140] of CASES) {
      for (const [columns, wanted] of [
        [80, at80],
        [140, at140],
      ] as const) {
        const { stdout } = await typeCommand(args, { cwd, isTTY: true, columns, env: { NO_COLOR: "1", LANG: "C.UTF-8" } });
        const lines = stdout.trimEnd().split("\n");
        expect(lines.filter((line) => textWidth(line) > columns)).toEqual([]);
        for (const pattern of wanted) expect(lines, `${args.join(" ")} at ${columns}`).toContainEqual(expect.stringMatching(pattern));
      }
    }
  });

  test("shows the steps of a job at 80 columns, and what each waits for", async () => {
    const cwd = folderOfOwn();
    const client = await connect(`sqlite:${join(cwd, "millrace.db")}`);
    client.work({
      onboard: async (_payload, ctx) => {
        await ctx.step("create the account of the customer", () => ({ id: "acme", plan: "large", seats: 12, region: "eu-central-1" }));
        await Promise.all([ctx.sleep("a week", "7d"), ctx.waitFor("approval of the manager"), ctx.call("render the documents", TYPE)]);
      },
    });
    const { id } = await client.enqueue("onboard");
    await until(async () => (await client.get(id))?.status === "blocked");
    await client.close();
    const typed = (columns: number) => typeCommand(["steps", id], { cwd, isTTY: true, columns, env: { NO_COLOR: "1", LANG: "C.UTF-8" } });
    const lines = (await typed(80)).stdout.trimEnd().split("\n");
    expect(lines.filter((line) => textWidth(line) > 80)).toEqual([]);
    expect(lines[0]).toMatch(/^NAME +KIND +STATE +WHEN +VALUE$/);
    for (const pattern of [
      /^create .*…[^ ]* .* step +done +\ds ago +\{"id":"acme",/,
      /^a week +sleep +open +in [67]d +sleeps until/,
      /^appro.* wait +open +\ds ago +waits for the signal/,
      /^render.* call +open +\ds ago +waits for customers/,
    ])
      expect(lines).toContainEqual(expect.stringMatching(pattern));
    expect((await typed(200)).stdout).toMatch(
      /render the documents +call +open +\ds ago +waits for customers:\S+everybody [0-9a-f-]{36}$/m,
    );
  });

  test("shows a preview in the zone that was asked for", async () => {
    const cwd = await filledFolder();
    const own = await typeCommand(["schedules", "preview", "the-newsletter-of-every-month", "--count", "1"], { cwd });
    expect(own.stdout).toMatch(/^\d{4}-\d\d-01 03:00:00 Europe\/Berlin \(in \d+d\)$/m);
    const other = await typeCommand(["schedules", "preview", "--cron", "0 9 * * *", "--time-zone", "Asia/Tokyo", "--count", "1"], { cwd });
    expect(other.stdout).toMatch(/^\d{4}-\d\d-\d\d 09:00:00 Asia\/Tokyo \(in /);
    const wrong = await typeCommand(["schedules", "preview", "the-newsletter-of-every-month", "--time-zone", "Mars/Base"], { cwd });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--time-zone must be the IANA name of a time zone") as string });
  });
});
