import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { textWidth } from "../../../src/cli/text-width.ts";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { Discard } from "../../../src/core/control-errors.ts";
import { createServer, listen } from "../../../src/server.ts";
import { MISSING_ID } from "../http/open-api.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

type Ended = Awaited<ReturnType<typeof typeCommand>>;

interface Bench {
  readonly client: Client;
  readonly type: (line: string, options?: { columns?: number; input?: string }) => Promise<Ended>;
  /** Writes a file into the folder of the commands. */
  readonly write: (name: string, text: string) => void;
}

/** Commands against a server over memory, or over a store of their own, and the client behind them. */
async function openFlows(over: "server" | "store" = "server"): Promise<Bench> {
  const cwd = folderOfOwn();
  const storeUrl = over === "server" ? "memory:" : `sqlite:${join(cwd, "jobs.db")}`;
  const client = await connect(storeUrl, { upkeep: true });
  onTestFinished(() => client.close({ grace: 0 }));
  let url = storeUrl;
  if (over === "server") {
    const listening = await listen(createServer(client, { keys: ["ops:admin+read+enqueue+work:s3cret"] }), { port: 0 });
    onTestFinished(() => listening.close({ graceMs: 0 }));
    ({ url } = listening);
  }
  const env = { MILLRACE_URL: url, API_KEY: "s3cret", NO_COLOR: "1", LANG: "C.UTF-8" };
  return {
    client,
    type: (line, { columns, input } = {}) =>
      typeCommand(line.split(" "), {
        cwd,
        env,
        ...(input === undefined ? {} : { input }),
        ...(columns === undefined ? {} : { isTTY: true, columns }),
      }),
    write: (name, text) => writeFileSync(join(cwd, name), text),
  };
}

const MEMBERS = [
  { name: "fetch", type: "data:fetch", payload: { rows: 3 }, max_retries: 0 },
  { name: "report", type: "report:make", after: ["fetch"], on_failure: "wait", limit_key: "k" },
  { name: "done", type: "notify", after: "*" },
];

const lines = ({ stdout }: Ended): string[] => stdout.trimEnd().split("\n");

describe("flows", () => {
  test("are created from a file, shown, listed, cancelled and retried", async () => {
    const { client, type, write } = await openFlows();
    write("flow.json", JSON.stringify(MEMBERS));
    const created = await type('flows create flow.json --key import-42 --tag nightly --meta {"n":1}');
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const id = created.stdout.trim();
    expect(await client.flows.get(id)).toMatchObject({ key: "import-42", tags: ["nightly"], meta: { n: 1 }, members: 3 });
    const again = await type("flows create flow.json --key import-42 --json");
    expect(JSON.parse(again.stdout)).toMatchObject({ id, created: false, jobs: { fetch: expect.any(String) as string } });
    expect(again.stderr).toBe("this is an existing flow with the same key; it is running\n");
    const shown = lines(await type(`flows show ${id}`));
    expect(shown.slice(0, 4)).toEqual([`id         ${id}`, "status     running", "key        import-42", "members    3"]);
    expect(shown.find((line) => line.startsWith("report"))).toMatch(
      /^report +blocked +fetch \(wait\) +report:make +default +- +\S{36} +-$/,
    );
    expect(lines(await type("flows"))[1]).toMatch(new RegExp(`^${id} +running +0 of 3 +0 +0 +0 +\\ds +import-42$`));
    expect((await type("flows list --status failed")).stderr).toBe("no flows\n");
    const members = lines(await type(`flows members ${id} --json`)).map((line) => JSON.parse(line) as object);
    expect(members).toHaveLength(3);
    expect(members).toContainEqual(expect.objectContaining({ name: "done", after: "*", on_failure: "cancel", status: "blocked" }));
    expect(await type(`flows cancel ${id} --reason enough`)).toMatchObject({ code: 0 });
    expect((await client.flows.wait(id)).status).toBe("cancelled");
    expect((await client.audit({ action: "flow:cancelled" })).entries).toMatchObject([{ reason: "enough", by: "ops" }]);
    expect(JSON.parse((await type(`flows show ${id} --json`)).stdout)).toMatchObject({ status: "cancelled", cancelled: 3, open: 0 });
    expect(await type(`flows retry ${id}`)).toMatchObject({ code: 0 });
    expect(await type(`flows retry ${id}`)).toMatchObject({ code: 5 });
  });

  test.each(["server", "store"] as const)("are waited for over a %s, and told in the statistics and with each job", async (over) => {
    const { client, type, write } = await openFlows(over);
    client.work({
      "data:fetch": () => {
        throw new Discard("the source is gone");
      },
      "*": () => null,
    });
    const last = MEMBERS.map((member) => ({ ...member, on_failure: "cancel" }));
    const input = JSON.stringify(last);
    const waited = await type("flows create - --wait", { input });
    expect(waited).toMatchObject({ code: 8, stderr: expect.stringMatching(/^created \S+, waiting until it ends\n$/) as string });
    const id = lines(waited)[0]!.split(/ +/)[1]!;
    expect(waited.stdout).toMatch(/\nstatus +failed\n[^]*\nfetch +dead +- +data:fetch .* the source is gone\n/);
    expect((await type("stats")).stdout).toMatch(/\nflows +0 running, 1 failed\n/);
    expect(JSON.parse((await type("stats --json")).stdout)).toMatchObject({ flows: { running: 0, failed: 1 } });
    const job = lines(await type(`list --flow ${id} --status dead --ids`));
    expect(job).toHaveLength(1);
    expect((await type(`status ${job[0]}`)).stdout).toContain(`\nflow       ${id} (fetch)\n`);
    expect((await type(`bulk cancel --flow ${id} --dry-run`)).stdout).toBe("0 jobs would be cancelled\n");
    write("good.json", '[{"name":"a","type":"t","payload":{"id":9007199254740993}}]');
    const good = await type("flows create good.json --wait --json");
    expect(good).toMatchObject({ code: 0 });
    const { id: goodId } = JSON.parse(good.stdout) as { id: string };
    expect((await type(`list --flow ${goodId} --ids`)).stdout).not.toBe("");
    const [only] = lines(await type(`list --flow ${goodId} --ids`));
    expect((await type(`status ${only}`)).stdout).toContain("9007199254740993");
  });

  test("are told by tail when they end", async () => {
    const { client, type } = await openFlows();
    client.work({ t: () => null });
    const tailing = { isOver: false };
    const tailed = type("tail --event flow:completed --limit 1").finally(() => (tailing.isOver = true));
    // Events are news: those before tail listens are not shown.
    while (!tailing.isOver) await client.flows.wait((await client.flow([{ name: "a", type: "t" }])).id);
    expect((await tailed).stdout).toMatch(/^[\d:.]{12} {2}flow:completed {2,}\S{36} {2}1 member\n$/);
  });

  test("and their members fit into 80 columns", async () => {
    const { client, type } = await openFlows();
    const members = Array.from({ length: 120 }, (_, index) => ({
      name: `member-${String(index).padStart(3, "0")}-${"n".repeat(60)}`,
      type: "a:very:long:type:of:job:that:goes:on",
      queue: "a-queue-with-a-name",
      after: index === 0 ? [] : [`member-000-${"n".repeat(60)}`],
    }));
    const { id } = await client.flow(members, { key: "k".repeat(100) });
    for (const line of ["flows", `flows show ${id}`, `flows members ${id}`]) {
      const shown = lines(await type(line, { columns: 80 }));
      expect([line, shown.filter((one) => textWidth(one) > 80 && !one.startsWith("key"))]).toEqual([line, []]);
    }
    expect((await type(`flows show ${id}`)).stderr).toMatch(/^there are more: millrace flows members \S+ --cursor \S+\n$/);
    const { stderr } = await type(`flows members ${id} --limit 100`);
    const cursor = /--cursor (\S+)\n$/.exec(stderr)![1]!;
    expect(lines(await type(`flows members ${id} --cursor ${cursor}`))).toHaveLength(21);
  });

  test.each([
    ["[]", /^millrace: members must be a list of at least one member/],
    ["{", /^millrace: flow\.json must be JSON: /],
    ['{"name":"a"}', /^millrace: flow\.json must be a JSON list of members, each with a name and a type/],
    ["[7]", /^millrace: members\[0\] must be an object with a name and a type; got 7/],
    ['[{"name":"a"}]', /^millrace: members\[0\]\.type is required/],
    ['[{"name":"a","name":"b","type":"t"}]', /^millrace: flow\.json: \[0\]\.name is given twice/],
    ['[{"name":"a","type":"t","max_retrys":1}]', /^millrace: unknown field members\[0\]\.max_retrys; did you mean max_retries/],
    ['[{"name":"a","type":"t","max_retries":101}]', /^millrace: member "a": max_retries must be a whole number/],
    ['[{"name":"a","type":"t","on_failure":"explode"}]', /^millrace: members\[0\]\.on_failure must be cancel, run, wait/],
    ['[{"name":"a","type":"t","scheduled_at":1}]', /^millrace: member "a": scheduled_at must be/],
    ['[{"name":"a","type":"t","after":"b"}]', /^millrace: "a" waits for "b", but the flow has no member of that name/],
  ])("%s is refused in the words of the file", async (text, words) => {
    for (const over of ["server", "store"] as const) {
      const { type, write } = await openFlows(over);
      write("flow.json", text);
      const { code, stderr } = await type("flows create flow.json");
      expect([code, stderr]).toEqual([2, expect.stringMatching(words) as string]);
    }
  });

  test.each([
    ["flows create nowhere.json", 2, /^millrace: nowhere\.json cannot be read/],
    [`flows show ${MISSING_ID}`, 3, /^millrace: there is no flow/],
    [`flows members ${MISSING_ID}`, 3, /^millrace: there is no flow/],
    [`flows cancel ${MISSING_ID}`, 3, /^millrace: there is no flow/],
    ["flows show 7", 2, /^millrace: id must be/],
    ["flows list --status pending", 2, /^millrace: --status must be/],
    ["flows list --limit 101", 2, /^millrace: --limit must be a whole number from 1 to 100/],
    ["list --flow 7", 2, /^millrace: --flow must be the id of a flow/],
  ])("%s exits with %d", async (line, code, words) => {
    const { type } = await openFlows();
    expect(await type(line)).toMatchObject({ code, stderr: expect.stringMatching(words) as string });
  });
});
