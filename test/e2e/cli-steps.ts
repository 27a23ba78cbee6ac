// What the command line is told on every store, and how each call must end. cli-suite.ts runs it.

import { expect } from "vitest";

/** What a step has to go by: ids of earlier steps, by name. */
export type Known = Record<string, string>;

/** One call of the command line, and how it must end. */
export interface Step {
  readonly name: string;
  readonly args: string | ((known: Known) => string);
  readonly code?: number;
  /** What stdout must be like: lines that match, in their order, and no others. */
  readonly lines?: readonly RegExp[];
  /** Values of the JSON lines of stdout, one for each line: these fields among others. */
  readonly json?: readonly object[];
  /** What must be said on stderr; nothing unless it is told. */
  readonly talk?: RegExp;
  readonly input?: string;
  /** Remembers the first line of stdout under this name. */
  readonly as?: string;
}

const ID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}";
const ONE_ID = [new RegExp(`^${ID}$`)];
const NO_JOB = "0199f3c2-7b5e-7000-8000-0123456789ab";

/** What the worker of the suite runs. */
export const HANDLERS = `
export default {
  double: async ({ n }, ctx) => {
    ctx.log("doubling " + n);
    return { n: 2 * n };
  },
  onboard: async (_, ctx) => {
    const account = await ctx.step("account", () => ({ id: 7 }));
    const approval = await ctx.waitFor("approval", { timeout: "1h" });
    return { account, approval };
  },
  broken: async () => {
    throw new Error("it \\u001b[2Jbroke\\u202e");
  },
};
`;

/** Everything that is done without a worker. Its steps follow each other on one store. */
export const STEPS: readonly Step[] = [
  // ── Jobs come in ──
  { name: "enqueue prints the id", args: `enqueue --type double --payload {"n":1} --tag first`, lines: ONE_ID, as: "one" },
  { name: "enqueue takes type and payload without flags", args: `enqueue double {"n":2} --priority high`, lines: ONE_ID, as: "two" },
  {
    name: "enqueue as JSON is the job",
    args: `enqueue --type later --delay 1h --queue reports --max-retries 7 --max-lost 2 --retry-delay 2s --timeout 1m --meta {"by":"ann"} --json`,
    json: [
      {
        type: "later",
        queue: "reports",
        status: "scheduled",
        priority: "default",
        payload: null,
        max_retries: 7,
        max_lost: 2,
        lost_count: 0,
        retry_delay: 2000,
        timeout: 60000,
        meta: { by: "ann" },
        created: true,
      },
    ],
  },
  {
    name: "enqueue reads a payload that is piped in",
    args: "enqueue --type piped --payload - --priority -7 --json",
    input: `["a"]`,
    json: [{ payload: ["a"], priority: -7 }],
  },
  {
    name: "enqueue reads a payload from a file",
    args: "enqueue --type filed --payload @payload.json --json",
    json: [{ payload: { from: "a file" } }],
  },
  { name: "a key makes a job", args: `enqueue --type pay --payload {"order":1} --key order-1`, lines: ONE_ID, as: "keyed" },
  {
    name: "the same key again gives the same job",
    args: `enqueue --type pay --payload {"order":1} --key order-1`,
    lines: ONE_ID,
    talk: /^this is an existing job with the same key; it is pending$/,
  },
  {
    name: "the same key for another payload is refused",
    args: `enqueue --type pay --payload {"order":2} --key order-1`,
    code: 5,
    talk: /^millrace: idempotencyKey "order-1" belongs to job /,
  },
  { name: "a type is needed", args: "enqueue", code: 2, talk: /^millrace: --type is required$/ },
  {
    name: "a payload is JSON",
    args: "enqueue --type a --payload hello",
    code: 2,
    talk: /^millrace: --payload must be JSON: .* \(a string needs JSON quotes: --payload '"text"'\)$/,
  },
  {
    name: "a bad option is told by its flag",
    args: "enqueue --type a --max-retries many",
    code: 2,
    talk: /^millrace: --max-retries must be a whole number from 0 to 100; got "many"$/,
  },
  { name: "a bad type is told", args: "enqueue --type a/b", code: 2, talk: /^millrace: --type must be 1 to 128 characters/ },
  {
    name: "as JSON an error is a line for programs",
    args: "enqueue --type a --priority huge --json",
    code: 2,
    talk: /^\{"error":\{"code":"invalid_input","message":"--priority must be .*","field":"--priority","exit_code":2\}\}$/,
  },
  // ── Jobs are looked at ──
  {
    name: "list shows jobs, newest first",
    args: "list --type double",
    lines: [
      /^ID +TYPE +QUEUE +PRIORITY +STATUS +ATTEMPT +AGE +TOOK +ERROR$/,
      /double +default +high +pending +0 +\d+[sm] +- +-$/,
      /double +default +default +pending +0 +\d+[sm] +- +-$/,
    ],
  },
  {
    name: "list as JSON has a line for each job",
    args: "list --type double --json",
    json: [
      { type: "double", priority: "high" },
      { type: "double", priority: "default", tags: ["first"] },
    ],
  },
  {
    name: "list filters",
    args: "list --tag first --status queued --queue default --priority default --from 1h --json",
    json: [{ tags: ["first"] }],
  },
  { name: "list searches", args: "list --search ORDER-1 --ids", lines: ONE_ID },
  {
    name: "a search that is none is told by its flag",
    args: ["list --search ", "x".repeat(201)].join(""),
    code: 2,
    talk: /^millrace: --search must be a string of 1 to 200/,
  },
  {
    name: "attention says what is wrong",
    args: "attention",
    lines: [/^SEVERITY +FINDING +HINT$/, /^bad +No worker is running, and jobs of \d+ types? are pending +start one: millrace worker/],
  },
  {
    name: "and as JSON",
    args: "attention --json",
    json: [{ code: "no_workers", severity: "bad", queue: null, type: null }],
  },
  {
    name: "explain says why a job is not running",
    args: ({ one }) => `explain ${one}`,
    lines: [/^no worker +no live worker handles jobs of type double from queue default/, /^position +about \d+ jobs? goe?s? before it$/],
  },
  {
    name: "explain as JSON has the codes",
    args: ({ one }) => `explain ${one} --json`,
    json: [{ reasons: [expect.objectContaining({ code: "no_worker", type: "double" }), expect.objectContaining({ code: "position" })] }],
  },
  { name: "a job that is not there cannot be explained", args: `explain ${NO_JOB}`, code: 3, talk: /^millrace: there is no job / },
  { name: "list prints ids for other commands", args: "list --type double --ids", lines: [...ONE_ID, ...ONE_ID] },
  {
    name: "list tells how it goes on",
    args: "list --limit 1 --ids",
    lines: ONE_ID,
    talk: /^there may be more: continue with --cursor \S+$/,
  },
  { name: "list of nothing says so", args: "list --type nothing", lines: [], talk: /^no jobs$/ },
  {
    name: "a status that is none is told",
    args: "list --status sleeping",
    code: 2,
    talk: /^millrace: --status must be one of scheduled, pending/,
  },
  { name: "a cursor that is none is told", args: "list --cursor nonsense", code: 2, talk: /^millrace: / },
  {
    name: "status as JSON has it all",
    args: ({ one }) => `status ${one} --json`,
    json: [{ type: "double", payload: { n: 1 }, attempts: [], logs: [] }],
  },
  { name: "a job that is not there", args: `status ${NO_JOB}`, code: 3, talk: /^millrace: there is no job / },
  { name: "an id that is none", args: "status nonsense", code: 2, talk: /^millrace: id must be the id of a job/ },
  // ── Jobs are changed ──
  { name: "cancel", args: ({ one }) => `cancel ${one}`, lines: [], talk: new RegExp(`^cancelled ${ID}: it is cancelled$`) },
  { name: "cancel again", args: ({ one }) => `cancel ${one}`, lines: [], talk: new RegExp(`^cancelled ${ID}: it is cancelled$`) },
  { name: "retry", args: ({ one }) => `retry ${one} --reason mistyped --json`, json: [{ status: "pending" }] },
  {
    name: "status says what was done by hand, and why",
    args: ({ one }) => `status ${one} --json`,
    json: [
      {
        changes: [
          { action: "cancelled", from: "pending", reason: null },
          { action: "retried", from: "cancelled", reason: "mistyped" },
        ],
      },
    ],
  },
  { name: "retry of what waits", args: ({ one }) => `retry ${one}`, code: 5, talk: /^millrace: job .* is pending: only / },
  {
    name: "one of several that fails does not stop the others",
    args: ({ one, two }) => `cancel ${NO_JOB} ${one} ${two} --json`,
    code: 3,
    json: [{ status: "cancelled" }, { status: "cancelled" }],
    talk: /"code":"not_found"/,
  },
  { name: "a delayed job is found", args: "list --type later --ids", lines: ONE_ID, as: "later" },
  { name: "and started at once", args: ({ later }) => `retry ${later} --now --json`, json: [{ status: "pending" }] },
  {
    name: "the audit says who did what, and why",
    args: "audit --action job:retried --json",
    json: [{ action: "job:retried", reason: "mistyped" }],
  },
  {
    name: "and shows it as a table",
    args: "audit --limit 1",
    lines: [/^ *AGE +BY +ACTION +WHAT +DETAILS +REASON$/, /job:started/],
    talk: /--cursor \d+$/,
  },
  // ── Durable work ──
  { name: "no steps", args: ({ one }) => `steps ${one}`, lines: [], talk: /^the job has no steps$/ },
  { name: "steps of no job", args: `steps ${NO_JOB}`, code: 3, talk: /^millrace: there is no job / },
  { name: "a job for signals", args: "enqueue --type signalled", lines: ONE_ID, as: "signalled" },
  {
    name: "signal is kept until the job waits for it",
    args: ({ signalled }) => `signal ${signalled} approval --payload {"n":12345678901234567890} --signal-id s-1`,
    lines: [],
    talk: new RegExp(`^sent approval to ${ID}$`),
  },
  { name: "signal again", args: ({ signalled }) => `signal ${signalled} approval --signal-id s-1 --json`, json: [{ accepted: true }] },
  {
    name: "another signal",
    args: ({ signalled }) => `signal ${signalled} approval`,
    code: 5,
    lines: [],
    talk: /^not accepted: the job has already received another signal approval$/,
  },
  {
    name: "another signal as JSON",
    args: ({ signalled }) => `signal ${signalled} approval --json`,
    code: 5,
    json: [{ accepted: false, reason: "already_received" }],
  },
  { name: "signal to no job", args: `signal ${NO_JOB} approval`, code: 3, talk: /^millrace: there is no job / },
  { name: "signal to a job that has ended", args: ({ one }) => `signal ${one} approval`, code: 5, talk: /^millrace: job .* is cancelled/ },
  {
    name: "a signal is JSON",
    args: ({ signalled }) => `signal ${signalled} a --payload x`,
    code: 2,
    talk: /^millrace: --payload must be JSON/,
  },
  {
    name: "steps",
    args: ({ signalled }) => `steps ${signalled}`,
    lines: [/^NAME +KIND +STATE +WHEN +VALUE$/, /^approval +wait +done +\d+s ago +\{"n":12345678901234567890\}$/],
  },
  {
    name: "steps as JSON",
    args: ({ signalled }) => `steps ${signalled} --json`,
    json: [{ name: "approval", kind: "wait", state: "done", until: null, attempt: 0, call: null, refused: [] }],
  },
  { name: "retry restarts", args: ({ one }) => `retry ${one} --restart --json`, json: [{ status: "pending" }] },
  {
    name: "restart is for jobs that have ended",
    args: ({ one }) => `retry ${one} --restart --now`,
    code: 2,
    talk: /^millrace: restart and now cannot be combined/,
  },
  // ── Queues ──
  { name: "pause", args: "pause default", lines: [], talk: /^queue default is paused$/ },
  { name: "queues show it", args: "queues", lines: [/^QUEUE +STATE +SCHEDULED/, /^default +paused /, /^reports +running /] },
  { name: "resume", args: "resume default --json", json: [{ queue: "default", paused: false }] },
  {
    name: "a name that no queue has",
    args: "pause mial",
    code: 3,
    talk: /^millrace: there is no queue mial: the queues are default, reports\./,
  },
  { name: "nor can it be resumed", args: "resume mial", code: 3, talk: /^millrace: there is no queue mial: / },
  { name: "or be told a setting", args: "queues set mial --capacity 1", code: 3, talk: /^millrace: there is no queue mial: / },
  { name: "but it can be made", args: "pause early --create", lines: [], talk: /^queue early is paused$/ },
  {
    name: "queues set",
    args: "queues set tiny --create --capacity 1 --head-start 1m --dead-letters off --keep-age 2h --keep-count 5 --keep-at-least 1m --json",
    json: [
      { name: "tiny", capacity: 1, head_start: 60000, dead_letters: false, retention: { age: 7200000, count: 5, keep_at_least: 60000 } },
    ],
  },
  { name: "a queue takes up to its capacity", args: "enqueue --type a --queue tiny", lines: ONE_ID },
  { name: "and no more", args: "enqueue --type a --queue tiny", code: 6, talk: /^millrace: queue tiny is full/ },
  {
    name: "queues set takes a bound away",
    args: "queues set tiny --capacity none --head-start strict --json",
    json: [{ capacity: null, head_start: null }],
  },
  {
    name: "queues show",
    args: "queues show tiny",
    lines: [/^QUEUE +STATE /, /^tiny +running /, /^$/, /^TYPE +OLDEST +WORKER$/, /^a +\S+ +none$/],
  },
  { name: "queues show as JSON", args: "queues show tiny --json", json: [{ name: "tiny", types: [{ type: "a", has_worker: false }] }] },
  {
    name: "queues types",
    args: "queues types tiny --step minute --from 10m",
    lines: [/^TYPE +ENQUEUED +COMPLETED +FAILED +RETRIED +WAIT P95 +RUN P50 +RUN P95 +RUN P99$/, /^a +1 +0 +0 +0 +- +- +- +-$/],
  },
  { name: "queues types as JSON", args: "queues types tiny --json", json: [{ type: "a", enqueued: 1, run: { p95: null } }] },
  {
    name: "queues show where nothing waits",
    args: "queues show early",
    lines: [/^QUEUE /, /^early +paused /, /^$/],
    talk: /^no job is pending$/,
  },
  { name: "queues show of none", args: "queues show mial", code: 3, talk: /^millrace: there is no queue mial$/ },
  {
    name: "limits set",
    args: "limits set tiny --running 5 --rate 100/s --per-key-running 2 --json",
    json: [
      { queue: "tiny", running: 0, limits: { running: 5, rate: "100/s", burst: 1, per_key: { running: 2, waiting: null } }, keys: [] },
    ],
  },
  {
    name: "limits set of a key",
    args: "limits set tiny --key acme/eu --running 3 --weight 2 --json",
    json: [{ keys: [{ key: "acme/eu", limits: { running: 3, weight: 2 }, own: { running: 3, weight: 2 } }] }],
  },
  { name: "limits", args: "limits", lines: [/^QUEUE +RUNNING +RATE +EACH KEY$/, /^tiny +0 of 5 +100\/s +running 2$/] },
  {
    name: "limits of a queue",
    args: "limits tiny",
    lines: [/^queue +tiny$/, /^running +0 of 5$/, /^rate +100\/s; next start now$/, /^each key +running 2$/],
  },
  { name: "limits list", args: "limits list tiny --json", json: [{ key: "acme/eu", limits: { running: 3, weight: 2 } }] },
  { name: "limits remove", args: "limits remove tiny --key acme/eu --json", json: [{ queue: "tiny", key: "acme/eu", removed: true }] },
  { name: "limits of none", args: "limits mial", code: 3, talk: /^millrace: there is no queue mial$/ },
  {
    name: "limits set to none",
    args: "limits set tiny --running none --rate none --per-key-running none --json",
    json: [{ limits: null }],
  },
  { name: "queues set wants a setting", args: "queues set tiny", code: 2, talk: /^millrace: nothing to set/ },
  {
    name: "queues set names the flag of what is wrong",
    args: "queues set tiny --keep-age long",
    code: 2,
    talk: /^millrace: --keep-age must be/,
  },
  // ── Schedules ──
  { name: "no schedules", args: "schedules", lines: [], talk: /^no schedules$/ },
  {
    name: "schedules create",
    args: `schedules create nightly --cron 0_3_*_*_* --time-zone Europe/Berlin --type clean --payload {"deep":true} --json`,
    json: [{ name: "nightly", cron: "0 3 * * *", time_zone: "Europe/Berlin", payload: { deep: true }, paused: false }],
  },
  {
    name: "schedules create refuses a name that is taken",
    args: "schedules create nightly --every 5s --type clean",
    code: 5,
    talk: /^millrace: schedule nightly already exists: change it with "schedules update", or pass --replace$/,
  },
  {
    name: "schedules create replaces one if told to",
    args: `schedules create nightly --every 5s --type clean --payload {"deep":true} --replace --json`,
    json: [{ name: "nightly", every: 5000, cron: null }],
  },
  { name: "schedules create wants a type", args: "schedules create other --every 5s", code: 2, talk: /--type/ },
  { name: "schedules create wants a time", args: "schedules create other --type a", code: 2, talk: /^millrace: a schedule needs a time/ },
  {
    name: "schedules update keeps what is not named",
    args: "schedules update nightly --every 10s --priority high --json",
    json: [{ every: 10000, cron: null, time_zone: null, priority: "high", payload: { deep: true } }],
  },
  { name: "schedules update of none", args: "schedules update other --every 10s", code: 3, talk: /^millrace: there is no schedule other$/ },
  {
    name: "schedules list",
    args: "schedules list",
    lines: [/^NAME +WHEN +TYPE +QUEUE +STATE +NEXT +LAST$/, /^nightly +every 10s +clean +default +active +\d{4}-/],
  },
  { name: "schedules show", args: "schedules show nightly --json", json: [{ name: "nightly" }] },
  { name: "schedules pause", args: "schedules pause nightly --json", json: [{ paused: true }] },
  { name: "schedules resume", args: "schedules resume nightly --json", json: [{ paused: false }] },
  { name: "schedules run", args: "schedules run nightly", lines: ONE_ID },
  {
    name: "schedules preview of a stored one",
    args: "schedules preview nightly --count 2",
    lines: [/^\d{4}-.* UTC \((in \d+s|\d+s ago)\)$/, /^\d{4}-.* UTC \((in \d+s|\d+s ago)\)$/],
  },
  {
    name: "schedules preview of one that is tried",
    args: "schedules preview --cron @daily --count 1 --json",
    json: [{ run_at: expect.stringMatching(/T00:00:00\.000Z$/) as string }],
  },
  { name: "schedules preview of nothing", args: "schedules preview", code: 2, talk: /^millrace: name a schedule to preview/ },
  {
    name: "schedules remove asks, and nobody answers",
    args: "schedules remove nightly",
    code: 2,
    talk: /^millrace: Delete the schedule nightly\? There is no terminal to ask on: pass --yes to confirm$/,
  },
  { name: "schedules remove", args: "schedules remove nightly --yes", lines: [], talk: /^schedule nightly is deleted$/ },
  { name: "schedules remove of none", args: "schedules remove nightly --yes", code: 3, talk: /^millrace: there is no schedule nightly$/ },
  // ── Flows ──
  { name: "no flows", args: "flows", lines: [], talk: /^no flows$/ },
  {
    name: "flows create reads members from stdin",
    args: "flows create - --key import-42",
    input: '[{"name":"a","type":"later","delay":"1h"},{"name":"b","type":"later","after":"a","on_failure":"run"}]',
    lines: ONE_ID,
    as: "flow",
  },
  { name: "flows list", args: "flows list --json", json: [{ status: "running", key: "import-42", members: 2, open: 2 }] },
  {
    name: "flows show",
    args: ({ flow }) => `flows show ${flow}`,
    lines: [
      /^id +/,
      /^status +running$/,
      /^key +import-42$/,
      /^members +2$/,
      /^completed +0$/,
      /^failed +0$/,
      /^cancelled +0$/,
      /^open +2$/,
      /^created +/,
      /^$/,
      /^NAME +STATUS +AFTER +TYPE +QUEUE +TOOK +JOB +ERROR$/,
      /^a +scheduled +- +later +default /,
      /^b +blocked +a \(run\) +later +default /,
    ],
  },
  { name: "flows members", args: ({ flow }) => `flows members ${flow} --json --limit 1`, json: [{ name: "a" }], talk: /--cursor a$/ },
  { name: "explain a member", args: ({ flow }) => `list --flow ${flow} --status blocked --json`, json: [{ flow: { name: "b" } }] },
  {
    name: "flows create again",
    args: "flows create - --key import-42",
    input: '[{"name":"a","type":"other"}]',
    code: 5,
    talk: /belongs to flow/,
  },
  { name: "flows cancel", args: ({ flow }) => `flows cancel ${flow} --json`, json: [{ key: "import-42" }] },
  { name: "flows show of none", args: `flows show ${NO_JOB}`, code: 3, talk: /^millrace: there is no flow / },
  // ── Figures ──
  { name: "no workers", args: "workers", lines: [], talk: /^no workers/ },
  { name: "no former workers", args: "workers --former", lines: [], talk: /^no worker stopped or was lost/ },
  {
    name: "top looks once",
    args: "top --once",
    lines: [
      /^millrace top {2}/,
      /^done 0 /,
      /^rate 0\/s$/,
      /^ran /,
      /^$/,
      /^QUEUE /,
      /^default /,
      /./,
      /./,
      /./,
      /^$/,
      /^no workers$/,
      /^$/,
      /^no errors$/,
    ],
  },
  { name: "top without a terminal", args: "top", code: 2, talk: /^millrace: top needs a terminal/ },
  // ── Many jobs at once ──
  { name: "no dead letters", args: "dead-groups", lines: [], talk: /^no dead jobs$/ },
  {
    name: "a group that is none is told",
    args: "list --group nonsense",
    code: 2,
    talk: /^millrace: --group must be the id of an error group/,
  },
  { name: "no bulk operations", args: "bulk", lines: [], talk: /^no bulk operations$/ },
  { name: "a job for bulk", args: "enqueue --type bulky --tag many", lines: ONE_ID },
  { name: "bulk previews", args: "bulk cancel --type bulky --dry-run", lines: [/^1 job would be cancelled$/] },
  {
    name: "bulk previews as JSON",
    args: "bulk delete --tag many --dry-run --json",
    json: [{ action: "delete", matched: 0, matched_is_capped: false, dry_run: true }],
  },
  { name: "bulk wants to know which jobs", args: "bulk delete --yes", code: 2, talk: /^millrace: no filter given: pass one, .* or --all/ },
  {
    name: "bulk asks, and nobody answers",
    args: "bulk cancel --type bulky",
    code: 2,
    talk: /^millrace: Cancel 1 job\? There is no terminal to ask on: pass --yes to confirm$/,
  },
  {
    name: "bulk names the flag of what is wrong",
    args: "bulk retry --status pending --yes",
    code: 2,
    talk: /^millrace: --status must be a status of jobs that can be retried: dead, failed, cancelled/,
  },
  { name: "bulk cancel", args: "bulk cancel --type bulky --yes", lines: [/^cancelled 1 job$/] },
  { name: "bulk retry", args: "bulk retry --status cancelled --type bulky --yes", lines: [/^retried 1 job$/] },
  { name: "bulk cancel again", args: "bulk cancel --tag many --yes --quiet", lines: [/^cancelled 1 job$/] },
  {
    name: "bulk delete as JSON",
    args: "bulk delete --type bulky --yes --json",
    json: [{ action: "delete", status: "completed", matched: 1, processed: 1, succeeded: 1, failed: 0, failures: [] }],
  },
  {
    name: "bulk list",
    args: "bulk list",
    lines: [
      /^ID +ACTION +STATUS +MATCHED +DONE +FAILED +AGE +FILTER$/,
      new RegExp(`^${ID} +delete +completed +1 +1 +0 .* type=bulky status=completed,failed,dead,cancelled$`),
      / cancel +completed /,
      / retry +completed /,
      / cancel +completed /,
    ],
  },
  {
    name: "bulk list goes on where it ended",
    args: "bulk list --limit 1",
    lines: [/^ID /, / delete +completed /],
    talk: /^there may be more: continue with --cursor \S+$/,
  },
  {
    name: "bulk list names the flag of what is wrong",
    args: "bulk list --limit 101",
    code: 2,
    talk: /^millrace: --limit must be a whole number from 1 to 100/,
  },
  { name: "bulk status of none", args: `bulk status ${NO_JOB}`, code: 3, talk: /^millrace: there is no bulk operation / },
  { name: "bulk stop of none", args: `bulk stop ${NO_JOB}`, code: 3, talk: /^millrace: there is no bulk operation / },
];

/** What is tried with a worker that runs meanwhile. */
export const WORKING: readonly Step[] = [
  {
    name: "enqueue waits for the end",
    args: `enqueue double {"n":21} --wait --json`,
    json: [{ status: "completed", result: { n: 42 }, attempts: [{ number: 1, outcome: "completed" }], logs: [{ text: "doubling 21" }] }],
    talk: /^enqueued .*, waiting until it ends$/,
  },
  {
    name: "a job that dies is told by the exit code",
    args: "enqueue broken --max-retries 0 --wait --quiet --json",
    code: 8,
    json: [{ status: "dead", error: { message: "it \u001b[2Jbroke\u202e" } }],
  },
  {
    name: "a job that nobody runs takes too long",
    args: "enqueue nobody --wait --wait-timeout 50ms --quiet",
    code: 7,
    talk: /^millrace: job .* did not end within 50 ms: it is pending$/,
  },
  { name: "a worker is seen", args: "workers --json", json: [{ slots: 2, queues: ["default"], types: ["double", "onboard", "broken"] }] },
  { name: "stats count", args: "stats --json", json: [{ dead_count: 1, active_workers: 1, total_failed: 1 }] },
  {
    name: "stats for people",
    args: "stats",
    lines: [
      /^processed +\d/,
      /^failed +1 \(1 today\)$/,
      /^retried +0 attempts$/,
      /^dead +1$/,
      /^workers +1$/,
      /^throughput /,
      /^waited +p50 /,
      /^ran +p50 /,
      /^$/,
      /^QUEUE +SCHEDULED/,
      /./,
      /./,
      /./,
      /./,
    ],
  },
  {
    name: "dead letters by error",
    args: "dead-groups",
    lines: [/^GROUP +JOBS +LAST 24 H +FIRST +LAST +TYPES +ERROR$/, /^[0-9a-f]{12} +1 +1 +\S+ +\S+ +broken +Error: it .*broke/],
  },
  { name: "and as JSON", args: "dead-groups --type broken --json", json: [{ count: 1, types: ["broken"], name: "Error" }] },
  {
    name: "a facet is declared",
    args: "queues set default --facets customer,order.id --json",
    json: [{ name: "default", facets: [{ field: "customer" }, { field: "order.id" }] }],
  },
  {
    name: "no failed job has it",
    args: "facets customer --status dead,failed",
    lines: [],
    talk: /^no dead or failed job has the facet customer\n1 more without customer/,
  },
  { name: "a payload field finds jobs", args: "list --where customer=nobody --ids", lines: [] },
  { name: "and is removed", args: "queues set default --facets none --json", json: [{ name: "default", facets: [] }] },
  {
    name: "a queue sets defaults for its jobs",
    args: "queues set default --defaults max-retries=5,timeout=2m --json",
    json: [{ name: "default", defaults: { max_retries: 5, max_lost: null, retry_delay: null, timeout: 120_000 } }],
  },
  {
    name: "and no longer",
    args: "queues set default --defaults none --json",
    json: [{ name: "default", defaults: { max_retries: null } }],
  },
  {
    name: "an error group is muted",
    args: "errors mute 000000000000 --for 24h --reason known",
    lines: [],
    talk: /^error group 000000000000 is muted until .+$/,
  },
  { name: "and listed", args: "errors --json", json: [{ group: "000000000000", reason: "known" }] },
  { name: "and muted for good", args: "errors mute 000000000000", lines: [], talk: /^error group 000000000000 is muted$/ },
  { name: "and shown so", args: "errors", lines: [/^GROUP +SINCE +UNTIL +BY +REASON$/, /^000000000000 .* you unmute it /] },
  { name: "and unmuted", args: "errors unmute 000000000000", lines: [], talk: /^error group 000000000000 is not muted any more$/ },
  {
    name: "a payload field is named once",
    args: "bulk delete --where customer=a --where customer=b --yes",
    code: 2,
    talk: /^millrace: --where names customer twice: name each field once$/,
  },
  { name: "retry-dead with a group that has none", args: "retry-dead --group 000000000000", lines: [/^retried 0 dead jobs$/] },
  { name: "retry-dead with a filter that fits none", args: "retry-dead --type other", lines: [/^retried 0 dead jobs$/] },
  {
    name: "purge-dead asks, and nobody answers",
    args: "purge-dead",
    code: 2,
    talk: /^millrace: Delete 1 dead job for good\? There is no terminal to ask on: pass --yes to confirm$/,
  },
  {
    name: "purge-dead with a filter that fits none",
    args: "purge-dead --queue reports --yes --json",
    json: [{ message: "Purged 0 dead jobs", purged: 0 }],
  },
  { name: "retry-dead", args: "retry-dead --json", json: [{ message: "Retried 1 dead job", retried: 1 }] },
];
