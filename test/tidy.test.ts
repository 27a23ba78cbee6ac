// The house rules, as tests. Each check runs over the real tree and over a small bad one, so that it is known to be able to fail.

import path from "node:path";
import { describe, expect, test } from "vitest";
import { bareNumbers } from "./tidy/bare-numbers.ts";
import { missingFromDocs, unmappedEngineFiles } from "./tidy/docs.ts";
import { readTree, type Files } from "./tidy/files.ts";
import { emptyNames, machineTraces, silencedTests } from "./tidy/habits.ts";
import { wrongArrows } from "./tidy/import-arrows.ts";
import { importedSpecifiers } from "./tidy/imports.ts";
import { missingFromLock } from "./tidy/lock-file.ts";
import { unexplainedNames } from "./tidy/public-names.ts";
import { impureCore } from "./tidy/pure-core.ts";
import { deadSources } from "./tidy/reach.ts";
import { obscureWords, unexplainedWords, unitlessTimes } from "./tidy/words.ts";

const root = path.resolve(import.meta.dirname, "..");
const tree = readTree(root);

function filesOf(contents: Record<string, string>): Files {
  return new Map(Object.entries(contents));
}

describe("imports follow the arrows", () => {
  test("in our tree", () => {
    expect(wrongArrows(tree)).toEqual([]);
  });

  test("every way to name a module is seen", () => {
    const text = `
      import a from "./a.ts";
      import type { B } from "./b.ts";
      export { c } from "./c.ts";
      export * from "./d.ts";
      type E = import("./e.ts").E;
      const f = await import("./f.ts");
      const g = new URL("./g.ts", import.meta.url);
      const h = new URL(here ? "./h.ts" : "./h.js", import.meta.url);
      const i = new URL(\`./i\${extension}\`, import.meta.url);
      const j = import.meta.resolve("./j.ts");
      // import "./comment.ts";
      const text = 'import "./text.ts"';
      const web = new URL("./web", "http://localhost");
    `;
    expect(importedSpecifiers("src/x.ts", text)).toEqual([
      "./a.ts",
      "./b.ts",
      "./c.ts",
      "./d.ts",
      "./e.ts",
      "./f.ts",
      "./g.ts",
      "./h.ts",
      "./h.js",
      "./i.ts",
      "./j.ts",
    ]);
  });

  test.each([
    ["src/core/job.ts", "../lib/id.ts", "src/core/job.ts -> src/lib/id.ts: src/core/ may use nothing but itself"],
    ["src/core/job.ts", "node:fs", "src/core/job.ts -> node:fs: of packages, src/core/ may use only node:crypto"],
    ["src/lib/id.ts", "croner", "src/lib/id.ts -> croner: of packages, src/lib/ may use only node:"],
    ["src/store/store.ts", "../lib/id.ts", "src/store/store.ts -> src/lib/id.ts: src/store/store.ts may use only src/core/"],
    [
      "src/store/redis/a.ts",
      "../sqlite/b.ts",
      "src/store/redis/a.ts -> src/store/sqlite/b.ts: only src/store/open-store.ts imports an engine",
    ],
    ["src/connect.ts", "./store/sqlite/b.ts", "src/connect.ts -> src/store/sqlite/b.ts: only src/store/open-store.ts imports an engine"],
    [
      "src/client/work.ts",
      "../upkeep/prune.ts",
      "src/client/work.ts -> src/upkeep/prune.ts: src/client/ may use only src/core/, src/store/store.ts, src/flows/, src/lib/",
    ],
    [
      "src/worker/worker.ts",
      "../client/work.ts",
      "src/worker/worker.ts -> src/client/work.ts: src/worker/ may use only src/core/, src/client/client.ts, src/lib/",
    ],
    [
      "src/worker/renewal/heartbeat.ts",
      "../../store/open-store.ts",
      "src/worker/renewal/heartbeat.ts -> src/store/open-store.ts: src/worker/ may use only src/core/, src/client/client.ts, src/lib/",
    ],
    [
      "src/worker/worker.ts",
      "./renewal/beat-thread.ts",
      "src/worker/worker.ts -> src/worker/renewal/beat-thread.ts: only src/worker/renewal/thread-renewer.ts imports the thread",
    ],
    ["src/index.ts", "./gone.ts", "src/index.ts -> ./gone.ts: there is no such file"],
    ["src/index.ts", "../test/tidy.test.ts", "src/index.ts -> test/tidy.test.ts: sources use only sources"],
    ["src/cli/main.ts", "millrace", "src/cli/main.ts -> millrace: sources import each other by path"],
  ])("%s may not import %s", (file, specifier, complaint) => {
    const others = [
      "src/lib/id.ts",
      "src/store/open-store.ts",
      "src/store/sqlite/b.ts",
      "src/upkeep/prune.ts",
      "src/client/work.ts",
      "src/worker/renewal/beat-thread.ts",
      "test/tidy.test.ts",
    ];
    const files = filesOf({ ...Object.fromEntries(others.map((other) => [other, ""])), [file]: `import "${specifier}";` });
    expect(wrongArrows(files)).toEqual([complaint]);
  });

  test("a folder without an arrow is refused", () => {
    expect(wrongArrows(filesOf({ "src/attic/box.ts": "" }))).toEqual(["src/attic/box.ts: stands in no room of test/tidy/import-arrows.ts"]);
  });

  test("the arrows that exist may be used", () => {
    const files = filesOf({
      "src/core/job.ts": `import { createHash } from "node:crypto"; import { createHash } from "node:crypto";`,
      "src/store/store.ts": `import type { Job } from "../core/job.ts";`,
      "src/store/sqlite/codec.ts": `import "../store.ts"; import "node:sqlite";`,
      "src/store/open-store.ts": `const load = () => import("./sqlite/codec.ts");`,
      "src/client/client.ts": `import type { Store } from "../store/store.ts";`,
      "src/worker/worker.ts": `import type { Client } from "../client/client.ts"; import "./attempt.ts";`,
      "src/worker/attempt.ts": "",
      "src/worker/renewal/thread-renewer.ts": `import type { ToThread } from "./beat-thread.ts";`,
      "src/worker/renewal/beat-thread.ts": `import { openStore } from "../../store/open-store.ts";`,
      "src/index.ts": `export { open } from "./store/open-store.ts";`,
    });
    expect(wrongArrows(files)).toEqual([]);
  });
});

describe("the core touches no clock, no chance and no world", () => {
  test("in our tree", () => {
    expect(impureCore(tree)).toEqual([]);
  });

  test.each([
    ["const a = Date.now();", "Date.now"],
    ["const a = new Date();", "new Date() is now"],
    ["const a = Date();", "Date() is now"],
    ["const a = Math.random();", "Math.random"],
    ["const a = performance.now();", "performance"],
    ["setTimeout(f, 1);", "setTimeout"],
    ["setImmediate(f);", "setImmediate"],
    ["const a = process.env.HOME;", "process"],
    ["const a = crypto.randomUUID();", "crypto"],
    [`import { readFileSync } from "node:fs";`, "node:fs"],
    [`import { randomBytes } from "node:crypto";`, "node:crypto for more than digests"],
    [`import * as all from "node:crypto";`, "node:crypto for more than digests"],
  ])("%s is seen", (line, complaint) => {
    expect(impureCore(filesOf({ "src/core/a.ts": `\n${line}` }))).toEqual([`src/core/a.ts:2: ${complaint}`]);
  });

  test("the same words without their meaning are let pass, and so are other rooms", () => {
    const harmless = `
      // Date.now() is not called here
      import { createHash } from "node:crypto";
      interface Options { process: string; performance(): void }
      const a = new Date(now); const b = job.process; const c = { process: "Math.random()" };
    `;
    expect(impureCore(filesOf({ "src/core/a.ts": harmless, "src/lib/clock.ts": "Date.now()" }))).toEqual([]);
  });
});

describe("no source file is dead", () => {
  test("in our tree", () => {
    expect(deadSources(tree)).toEqual([]);
  });

  test("a file that nothing leads to is seen, a thread's entry is not", () => {
    const files = filesOf({
      "src/index.ts": `export * from "./a.ts";`,
      "src/a.ts": `new Worker(new URL("./thread.ts", import.meta.url));`,
      "src/thread.ts": `import "./b.ts";`,
      "src/b.ts": "",
      "src/dead.ts": `import "./a.ts";`,
    });
    expect(deadSources(files)).toEqual(["src/dead.ts"]);
  });
});

describe("every public name is explained where it is declared", () => {
  test("in our tree", () => {
    expect(unexplainedNames(tree)).toEqual([]);
  });

  test("a name without a comment is seen through re-exports", () => {
    const files = filesOf({
      "src/index.ts": `
        import { imported } from "./a.ts";
        export { bare, told, both as renamed, imported } from "./a.ts";
        export * from "./b.ts";
        export { Type } from "typebox";
        export { imported as again };`,
      "src/a.ts": `
        export const bare = 1;
        /** Told. */
        export function told() {}
        /** A comment of something else. */
        const other = 1;
        export type both = string;
        /** One of two is enough. */
        export const both = "";
        // Not a JSDoc comment.
        const imported = 1;
        export { imported };`,
      "src/b.ts": "/* Not JSDoc either. */ export class Starred {}",
    });
    expect(unexplainedNames(files).sort()).toEqual([
      "millrace: Starred (src/b.ts) has no JSDoc comment",
      "millrace: again (src/a.ts) has no JSDoc comment",
      "millrace: bare (src/a.ts) has no JSDoc comment",
      "millrace: imported (src/a.ts) has no JSDoc comment",
    ]);
  });
});

describe("numbers that engines store have one home", () => {
  test("in our tree", () => {
    expect(bareNumbers(tree)).toEqual([]);
  });

  test.each([
    ["select id from job where state = 2", "a bare number of a state: state = 2"],
    ["case when g.to_state >= 4 then v_now end", "a bare number of a state: to_state >= 4"],
    ["where e.state in (4, 5)", "a bare number of a state: state in (4"],
    ["if state ~= 2 then", "a bare number of a state: state ~= 2"],
    ["metric between 16 and 23", "a bare number of what is counted: metric between 1"],
    ["count(*) filter (where priority < 0)", "a bare bound of a priority: priority < 0"],
    ["if known > 107 then", "a bare bound of a bucket: 107"],
    ["tonumber(found[3]) or 8796093022208", "a bare head start: 8796093022208"],
    ["open('>I7', member)", "a format by hand: '>I"],
    ["sub(record, 3, 37)", "a cut by hand: sub(record, 3"],
  ])("%s is seen", (text, complaint) => {
    expect(bareNumbers(filesOf({ "src/store/sqlite/a.ts": `const TEXT = \`${text}\`;` }))).toEqual([
      `src/store/sqlite/a.ts:1: ${complaint}`,
    ]);
  });

  test("names, comments and released steps are let pass", () => {
    const text = "// state = 2\nconst A = `state = ${STATE.pending} and priority >= ${from}`;";
    const released = "const STEP = `create index a on b (c) where state = 2`;";
    expect(bareNumbers(filesOf({ "src/store/a.ts": text, "src/store/sqlite/migrations.ts": released }))).toEqual([]);
  });
});

describe("docs name only what exists", () => {
  test("in our tree", () => {
    expect(missingFromDocs(tree)).toEqual([]);
  });

  const fence = "```";
  const known = {
    "package.json": `{ "scripts": { "test": "", "bench": "" } }`,
    "src/index.ts": "export const connect = 1; export interface Job {}",
    "docs/GUIDE.md": "# The guide\n\n## What `claim` does, and why\n",
  };

  test.each([
    ["[guide](docs/GIUDE.md)", "the link docs/GIUDE.md leads nowhere"],
    ["[guide](docs/GUIDE.md#the-giude)", "the link docs/GUIDE.md#the-giude leads nowhere"],
    ["[guide]: docs/GIUDE.md", "the link docs/GIUDE.md leads nowhere"],
    ["`npm run benhc`", "package.json has no script benhc"],
    ["`npm start`", "package.json has no script start"],
    ["see `src/indx.ts`", "there is no src/indx.ts"],
    ["see `src/stores/*.ts`", "there is no src/stores/"],
    [`${fence}ts\nimport { connect, conect } from "millrace";\n${fence}`, "millrace exports no conect"],
    [`${fence}ts\nimport { connect } from "millrace/fast";\n${fence}`, "there is no millrace/fast to import from"],
  ])("%s is seen", (text, complaint) => {
    expect(missingFromDocs(filesOf({ ...known, "README.md": text }))).toEqual([`README.md: ${complaint}`]);
  });

  test("what exists is let pass", () => {
    const text = `
[guide](docs/GUIDE.md#what-claim-does-and-why) [web](https://example.com/x) \`npm run bench\` \`src/index.ts:1\` \`src/*.ts\` \`docs/\`
[here](#below)

## Below

${fence}ts
import { connect as open, type Job } from "millrace";
const link = "[not](a-link.md)";
${fence}
`;
    expect(missingFromDocs(filesOf({ ...known, "README.md": text }))).toEqual([]);
  });
});

describe("docs map every engine", () => {
  test("in our tree", () => {
    expect(unmappedEngineFiles(tree)).toEqual([]);
  });

  test("a file that is under another engine or under none is seen", () => {
    const map =
      "## Engines\n\n`insert.ts`, `*-store.ts`\n\n### PostgreSQL\n\n`pool.ts`\n\n### Redis\n\n`keys.ts`\n\n## More\n\n`form.ts`\n";
    const names = [
      "postgres/insert",
      "postgres/pool",
      "redis/redis-store",
      "redis/keys",
      "redis/statements/take",
      "redis/pool",
      "redis/form",
    ];
    const sources = Object.fromEntries(names.map((name) => [`src/store/${name}.ts`, ""]));
    expect(unmappedEngineFiles(filesOf({ "docs/ARCHITECTURE.md": map, ...sources }))).toEqual([
      "docs/ARCHITECTURE.md does not map src/store/redis/pool.ts",
      "docs/ARCHITECTURE.md does not map src/store/redis/form.ts",
    ]);
  });
});

describe("names say something", () => {
  test("in our tree", () => {
    expect(emptyNames(tree)).toEqual([]);
  });

  test("a name that says nothing is seen", () => {
    const files = filesOf({ "src/lib/utils.ts": "", "test/helpers/a.ts": "", "src/commonplace.ts": "", "docs/misc.md": "" });
    expect(emptyNames(files)).toEqual(["src/lib/utils.ts: a name that says nothing", "test/helpers/a.ts: a name that says nothing"]);
  });
});

describe("one plain word for one thing", () => {
  test("in our tree", () => {
    expect([...obscureWords(tree), ...unitlessTimes(tree), ...unexplainedWords(tree)]).toEqual([]);
  });

  test("a word that has to be explained is seen in names, comments, texts and docs", () => {
    const files = filesOf({
      "src/a.ts": "/** Bulk crew. */\nconst frontDesk = 1;\nclass WaitingRoom {}\nconst said = `your wish`;",
      "src/last-words.ts": "",
      "docs/a.md": "put it on the shelf",
      "docs/glossary.md": "not a crew",
      "test/a.ts": "const crew = 1;",
      "src/harmless.ts": "const desktop = Math.floor(requests); const words = 'room for a word'; type RoomSize = number;",
    });
    expect(obscureWords(files)).toEqual([
      "src/a.ts:2: desk; say what it does: waits, admits, asks",
      "src/a.ts:1: crew; say workers",
      "src/a.ts:4: wish; say request, option, or asked for",
      "src/a.ts:3: WaitingRoom; say limits",
      "src/last-words.ts; say what is written at the end",
      "docs/a.md:1: shelf; say what it keeps",
    ]);
  });

  test("a number that is a length of time without its unit is seen", () => {
    const text = "interface A { lease: number; retryDelay?: number | null; leaseMs: number; timeout: string; every: Duration }";
    expect(unitlessTimes(filesOf({ "src/a.ts": text, "src/core/job.ts": "interface Job { timeout: number }" }))).toEqual([
      "src/a.ts:1: lease has no unit; call it leaseMs",
      "src/a.ts:1: retryDelay has no unit; call it retryDelayMs",
    ]);
  });

  test("a name that the glossary does not have, or has alone, is seen", () => {
    const glossary = (tree.get("docs/glossary.md") ?? "").replace("| `gap`", "| `hole`").replaceAll("`STRICT_TYPES`", "strict types");
    expect(unexplainedWords(new Map([...tree, ["docs/glossary.md", glossary]]))).toEqual([
      'docs/glossary.md: "Events" does not explain gap of src/core/event.ts',
      'docs/glossary.md: "Events" explains hole, which src/core/event.ts does not have',
      'docs/glossary.md: "Settings" does not explain STRICT_TYPES of src/config.ts',
    ]);
  });
});

describe("every test runs, or says why not", () => {
  test("in our tree", () => {
    expect(silencedTests(tree)).toEqual([]);
  });

  test("a silenced test is seen", () => {
    // Examples for the check above: texts, not tests of ours.
    const text = [
      "test.only('a', f);",
      "describe.concurrent.only('b', f);",
      "it.skip('c', f);",
      "test.todo('d');",
      "test.skipIf(slow)('e', f);",
      "// Redis keeps no such promise: its clock is the server's.",
      "test.skip('explained', f);",
      "it.todo('explained'); // waits for the dashboard",
      "stream.skip(1); const said = 'test.only()';",
    ].join("\n");
    expect(silencedTests(filesOf({ "test/a.test.ts": text }))).toEqual([
      "test/a.test.ts:1: .only keeps the other tests from running",
      "test/a.test.ts:2: .only keeps the other tests from running",
      "test/a.test.ts:3: .skip without its reason beside it",
      "test/a.test.ts:4: .todo without its reason beside it",
      "test/a.test.ts:5: .skipIf without its reason beside it",
    ]);
  });
});

describe("no file tells of the machine that it was written on", () => {
  test("in our tree", () => {
    expect(machineTraces(tree, root)).toEqual([]);
  });

  test("a path of a machine and a host of a registry are seen", () => {
    // Put together here, so that this file does not hold what it looks for.
    const home = ["", "home", "ann", "code"].join("/");
    const host = ["registry", "example", "com"].join(".");
    const files = filesOf({
      "docs/a.md": `see ${home}\nand https://${host}/x`,
      "docs/b.md": "GET /v1/home/ann, ./home/ann and https://example.com/home/ann are no such paths",
      "docs/c.md": "made in /srv/checkouts/millrace/src",
      "package-lock.json": `{ "resolved": "https://example.com/a.tgz" }`,
      ".npmrc": "registry = https://example.com",
    });
    expect(machineTraces(files, "/srv/checkouts/millrace")).toEqual([
      "docs/a.md:2: a registry host",
      `docs/a.md:1: the path ${["", "home", "ann"].join("/")}`,
      "docs/c.md: the path of this checkout",
      'package-lock.json: "resolved" addresses; .npmrc has omit-lockfile-registry-resolved against them',
      ".npmrc: a registry",
    ]);
  });
});

describe("the lock file serves every platform", () => {
  test("in our tree", () => {
    expect(missingFromLock(tree)).toEqual([]);
  });

  test("a platform's package that is not locked is seen", () => {
    const lock = {
      packages: {
        "node_modules/tool": { optionalDependencies: { "tool-linux-x64": "1.0.0", "tool-darwin-arm64": "1.0.0" } },
        "node_modules/tool-linux-x64": {},
      },
    };
    expect(missingFromLock(filesOf({ "package-lock.json": JSON.stringify(lock) }))).toEqual([
      "package-lock.json lacks tool-darwin-arm64: `npm run lock` adds it",
    ]);
  });
});
