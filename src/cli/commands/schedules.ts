import type { Schedule, ScheduleTiming } from "../../client/client.ts";
import { formatDuration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import { checkTimeZone } from "../../core/schedule.ts";
import { toEnqueuedWire } from "../../http/wire/job.ts";
import { toScheduleWire } from "../../http/wire/schedule.ts";
import { toPriority } from "../../http/wire/values.ts";
import { checkPayload } from "../check-payload.ts";
import { type CommandGroup, defineVerb, number, optional, reason, required, toggle } from "../command.ts";
import { confirm } from "../confirm.ts";
import { CommandRefused, EXIT } from "../exit-codes.ts";
import { moment, momentIn, NOTHING } from "../figures.ts";
import { payloadOf } from "../../core/json-text.ts";
import type { Output } from "../output.ts";
import { safePrettyJson } from "../safe-text.ts";
import { changedSchedule, readScheduleInput, SCHEDULE_INPUT, TIMING_INPUT } from "../schedule-input.ts";
import type { Column } from "../table.ts";

const name = required("name", "the name of a schedule");

export const schedules: CommandGroup = {
  about: "A schedule makes jobs by cron or at an interval. Schedules fire while at least one worker or server runs.",
  examples: [
    "millrace schedules",
    `millrace schedules create nightly --cron "0 3 * * *" --time-zone Europe/Berlin --type clean:up`,
    "millrace schedules preview nightly",
  ],
  commands: {
    list: defineVerb("Show all schedules", {
      about: "Shows all schedules by name.",
      examples: ["millrace schedules list", "millrace schedules list --json | jq .next_run_at"],
      async run(_input, session) {
        const all = await session.withClient((client) => client.schedules.list());
        session.output.items(all, toScheduleWire, columns(Date.now()), "no schedules");
      },
    }),
    show: defineVerb("Show one schedule", {
      about: "Shows a schedule.",
      examples: ["millrace schedules show nightly"],
      arguments: { name },
      async run({ name }, session) {
        const found = await session.withClient((client) => client.schedules.get(name));
        if (found === null) throw unknownSchedule(name);
        print(found, session.output);
      },
    }),
    create: defineVerb("Make a schedule", {
      about:
        "Makes a schedule. If one of that name exists, it is refused (exit code 5), unless you pass --replace. To change some options only, use `update`.",
      examples: [
        `millrace schedules create nightly --cron "0 3 * * *" --time-zone Europe/Berlin --type clean:up`,
        "millrace schedules create poll --every 10s --type inbox:poll --overlap skip",
        "millrace schedules create poll --every 1m --type inbox:poll --replace",
      ],
      arguments: { name },
      options: { ...SCHEDULE_INPUT, replace: toggle("replace a schedule that has this name"), reason },
      async run(input, session) {
        if (input.type === undefined) throw new CommandRefused("--type is required: the type of the jobs");
        const wanted = await readScheduleInput(input.name, input, session);
        const why = { reason: input.reason };
        const made = session.withClient(async (client) => {
          await checkPayload(client, wanted, wanted.payload, session);
          return input.replace ? client.schedules.upsert(wanted, why) : client.schedules.create(wanted, why);
        });
        print(await made.catch(refuseTaken), session.output);
      },
    }),
    update: defineVerb("Change a schedule", {
      about: "Changes the given options of a schedule; the others stay. A new cron or interval counts from now.",
      examples: [`millrace schedules update nightly --cron "30 2 * * *"`, "millrace schedules update poll --every 1m --priority low"],
      arguments: { name },
      options: { ...SCHEDULE_INPUT, reason },
      async run(input, session) {
        const changes = await readScheduleInput(input.name, input, session);
        await session.withClient(async (client) => {
          const stored = await client.schedules.get(input.name);
          if (stored === null) throw unknownSchedule(input.name);
          const wanted = changedSchedule(stored, changes);
          await checkPayload(client, wanted, wanted.payload, session);
          print(await client.schedules.upsert(wanted, { reason: input.reason }), session.output);
        });
      },
    }),
    remove: defineVerb("Delete a schedule", {
      about: "Deletes a schedule; the jobs it made stay. Asks first, unless you pass --yes.",
      examples: ["millrace schedules remove poll --yes"],
      arguments: { name },
      options: { yes: toggle("do not ask"), reason },
      run: ({ name, yes, reason: why }, session) =>
        session.withClient(async (client) => {
          const { output } = session;
          if ((await client.schedules.get(name)) === null) throw unknownSchedule(name);
          if (!yes) await confirm(`Delete the schedule ${name}?`, session);
          if (!(await client.schedules.remove(name, { reason: why }))) throw unknownSchedule(name);
          if (output.json) output.value({ name, removed: true });
          else output.message(`schedule ${name} is deleted`);
        }),
    }),
    run: defineVerb("Run a schedule now", {
      about: "Makes a job now, in addition to the ticks of the schedule, and prints its id.",
      examples: ["millrace schedules run nightly"],
      arguments: { name },
      options: { reason },
      async run({ name, reason: why }, session) {
        const job = await session.withClient((client) => client.schedules.run(name, { reason: why }));
        if (session.output.json) session.output.value(toEnqueuedWire(job));
        else session.output.line(job.id);
      },
    }),
    pause: defineVerb("Pause a schedule", {
      about: "Pauses a schedule: it does not fire until you resume it.",
      examples: ["millrace schedules pause nightly"],
      arguments: { name },
      options: { reason },
      run: async ({ name, reason: why }, session) =>
        print(await session.withClient((client) => client.schedules.pause(name, { reason: why })), session.output),
    }),
    resume: defineVerb("Resume a schedule", {
      about: "Resumes a schedule: it fires again from its next tick. Ticks missed meanwhile make no jobs.",
      examples: ["millrace schedules resume nightly"],
      arguments: { name },
      options: { reason },
      run: async ({ name, reason: why }, session) =>
        print(await session.withClient((client) => client.schedules.resume(name, { reason: why })), session.output),
    }),
    preview: defineVerb("Show when a schedule will fire", {
      about:
        "Shows when a schedule will fire next, in its time zone or in that of --time-zone. With --cron or --every you can try a timing without a schedule.",
      examples: [
        "millrace schedules preview nightly --count 3",
        `millrace schedules preview --cron "0 3 * * 1" --time-zone America/New_York`,
      ],
      arguments: { name: optional("name", "the name of a schedule, unless you pass --cron or --every") },
      options: { ...TIMING_INPUT, count: number("how many times (default: 10)") },
      async run({ name, cron, timeZone, every, count }, session) {
        const timing = { cron, timeZone, every };
        const hasTiming = cron !== undefined || every !== undefined;
        if (hasTiming === (name !== undefined)) throw new CommandRefused("name a schedule to preview, or pass --cron or --every, not both");
        if (timeZone !== undefined) checkTimeZone(timeZone);
        const { times, zone } = await session.withClient(async ({ schedules }) => ({
          times: await schedules.preview(name ?? (timing as ScheduleTiming), count),
          zone: timeZone ?? (name === undefined ? undefined : (await schedules.get(name))?.timeZone),
        }));
        const now = Date.now();
        for (const at of times) {
          if (session.output.json) session.output.value({ run_at: new Date(at).toISOString() });
          else session.output.line(momentIn(zone ?? "UTC", at, now));
        }
      },
    }),
  },
};

function refuseTaken(error: unknown): never {
  if (!(error instanceof MillraceError) || error.code !== "schedule_exists") throw error;
  throw new MillraceError(error.code, `${error.message}: change it with "schedules update", or pass --replace`, { field: "name" });
}

function unknownSchedule(name: string): CommandRefused {
  return new CommandRefused(`there is no schedule ${name}`, EXIT.notFound);
}

function timingOf({ cron, every, timeZone }: Schedule): string {
  return cron === null ? `every ${formatDuration(every ?? 0)}` : `${cron} ${timeZone}`;
}

function columns(now: number): readonly Column<Schedule>[] {
  return [
    { title: "NAME", text: ({ name }) => name, shrinks: "middle", atLeast: 12 },
    { title: "WHEN", text: timingOf, shrinks: "end", atLeast: 12 },
    { title: "TYPE", text: ({ type }) => type, shrinks: "middle", atLeast: 12 },
    { title: "QUEUE", text: ({ queue }) => queue, shrinks: "middle", leaveOut: 2 },
    {
      title: "STATE",
      text: ({ paused }) => (paused ? "paused" : "active"),
      style: ({ paused }) => (paused ? "yellow" : undefined),
      leaveOut: 1,
    },
    { title: "NEXT", text: ({ nextRunAt }) => moment(nextRunAt, now) },
    { title: "LAST", text: ({ lastRunAt }) => moment(lastRunAt, now), leaveOut: 3 },
  ];
}

function print(schedule: Schedule, output: Output): void {
  if (output.json) return output.value(toScheduleWire(schedule));
  const now = Date.now();
  const facts: readonly (readonly [name: string, value: string])[] = [
    ["name", schedule.name],
    ["when", timingOf(schedule)],
    ["type", schedule.type],
    ["queue", schedule.queue],
    ["priority", String(toPriority(schedule.priority))],
    ["state", schedule.paused ? "paused" : "active"],
    ["next", moment(schedule.nextRunAt, now)],
    ["last", moment(schedule.lastRunAt, now)],
    ["last job", schedule.lastJobId ?? NOTHING],
    ["catch up", schedule.catchUp],
    ["overlap", schedule.overlap],
    ["limit key", schedule.limitKey ?? NOTHING],
    ["cost", schedule.cost === 1 ? NOTHING : String(schedule.cost)],
    ["tags", schedule.tags.join(", ") || NOTHING],
  ];
  for (const [fact, value] of facts) if (value !== NOTHING) output.fact(fact, value);
  output.block("payload", safePrettyJson(payloadOf(schedule)));
}
