import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import { openApi } from "../http/open-api.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

const EXACT = String.raw`{"id": 9007199254740993,"zero":-0, "one":1.0}`;

/** Where a command finds its jobs: a file, or a server. */
const PLACES = {
  store: async (): Promise<{ url: string }> => ({ url: `sqlite:${join(folderOfOwn(), "jobs.db")}` }),
  server: async (): Promise<{ url: string }> => openApi(),
};

describe.each(Object.entries(PLACES))("the text of a payload, on a %s", (_place, open) => {
  test.each(["argument", "file", "pipe"])("is kept as it was given: %s", async (way) => {
    const { url } = await open();
    const cwd = folderOfOwn();
    writeFileSync(join(cwd, "payload.json"), `\n${EXACT}\n`);
    const given = { argument: EXACT, file: "@payload.json", pipe: "-" }[way]!;
    const { stdout, stderr } = await typeCommand(["enqueue", "t", given, "--json", "--url", url], { cwd, input: EXACT });
    expect(stderr).toBe("");
    expect(stdout).toContain(`"payload":${EXACT},`);
    const { id } = JSON.parse(stdout) as { id: string };
    expect((await typeCommand(["status", id, "--json", "--url", url])).stdout).toContain(`"payload":${EXACT},`);
    const shown = (await typeCommand(["status", id, "--url", url])).stdout;
    for (const line of ['"id": 9007199254740993', '"zero": -0', '"one": 1.0']) expect(shown).toContain(line);
    const client = await connect(url);
    expect(await client.get(id)).toMatchObject({ payload: { id: 2 ** 53, one: 1 } });
    await client.close();
  });

  test("is kept by a schedule, also when something else of it is changed", async () => {
    const { url } = await open();
    await typeCommand(["schedules", "create", "s", "--every", "1h", "--type", "t", "--payload", EXACT, "--url", url]);
    const { stdout, stderr } = await typeCommand(["schedules", "update", "s", "--queue", "mail", "--json", "--url", url]);
    expect(stderr).toBe("");
    expect(stdout).toContain(`"payload":${EXACT},`);
    expect((await typeCommand(["schedules", "show", "s", "--url", url])).stdout).toContain('"id": 9007199254740993');
  });
});

describe("a payload is refused", () => {
  const NOT_UTF8 = Buffer.from([0x22, 0xff, 0x22]);

  test.each([
    [
      "with a doubled name, as an argument",
      '{"a":1,"b":{"c":1,"c":2}}',
      null,
      /^millrace: --payload: b\.c is given twice: give it once\n$/,
    ],
    [
      "with a doubled name, in a file",
      "@payload.json",
      Buffer.from('{"a":1,"a":2}'),
      /^millrace: --payload: a is given twice: give it once\n$/,
    ],
    ["with a doubled name, piped in", "-", Buffer.from('{"a":1,"a":2}'), /^millrace: --payload: a is given twice: give it once\n$/],
    ["that is not UTF-8, in a file", "@payload.json", NOT_UTF8, /^millrace: payload\.json is not UTF-8/],
    ["that is not UTF-8, piped in", "-", NOT_UTF8, /^millrace: --payload - is not UTF-8/],
    // Node puts this character in the place of bytes that are none.
    ["that was not UTF-8, as an argument", '"\ufffd"', null, /^millrace: --payload is not UTF-8, or contains the character U\+FFFD/],
  ] as const)("%s", async (_name, given, bytes, stderr) => {
    const cwd = folderOfOwn();
    if (bytes !== null) writeFileSync(join(cwd, "payload.json"), bytes);
    const ended = await typeCommand(["enqueue", "t", given, "--url", "sqlite:jobs.db"], {
      cwd,
      ...(bytes === null ? {} : { input: bytes }),
    });
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(stderr) as string });
  });

  test("also where it is a meta", async () => {
    const ended = await typeCommand(["enqueue", "t", "--meta", '{"a":1,"a":2}', "--url", "sqlite:jobs.db"]);
    expect(ended).toMatchObject({ code: 2, stderr: "millrace: --meta: a is given twice: give it once\n" });
  });
});
