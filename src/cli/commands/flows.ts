import type { CreatedFlow, Flow, FlowMemberInput, FlowOptions, PlainClient } from "../../client/client.ts";
import { FLOW_STATUSES, type FlowStatus, MAX_FLOWS_PAGE, MAX_MEMBERS_PAGE } from "../../core/flow.ts";
import { memberError } from "../../core/flow-graph.ts";
import { toCreatedFlowWire, toFlowWire, toMemberWire } from "../../http/wire/flow.ts";
import { payloadChecker } from "../check-payload.ts";
import { type CommandGroup, defineVerb, number, reason, required, text, time, toggle } from "../command.ts";
import { CommandRefused, EXIT, type ExitCode } from "../exit-codes.ts";
import { flowColumns, memberColumns, printFlow } from "../flow-view.ts";
import { JOB_INPUT, readJobInput } from "../job-input.ts";
import type { Session } from "../session.ts";

const id = required("id", "the id of a flow");
const { tag, meta, webhookUrl } = JOB_INPUT;

/** How many members `show` prints. */
const SHOWN_MEMBERS = 100;

export const flows: CommandGroup = {
  about: "A flow is jobs that run after each other: each member waits for the members that it names.",
  examples: [
    "millrace flows",
    "millrace flows create flow.json --key import-42 --wait",
    "millrace list --flow 0199f3c2-7b5e-7000-8000-0123456789ab",
  ],
  commands: {
    list: defineVerb("Show flows", {
      about: "Shows flows, newest first.",
      examples: ["millrace flows list --status failed", "millrace flows list --json | jq -r 'select(.stuck.count > 0) | .id'"],
      options: {
        status: text("<status>", "only flows in this status", FLOW_STATUSES),
        limit: number(`how many at most (default and most: ${MAX_FLOWS_PAGE})`),
        cursor: text("<cursor>", "continue where the previous list ended"),
      },
      async run({ status, limit, cursor: from }, session) {
        const page = await session.withClient((client) =>
          client.flows.list({ status: status as FlowStatus | undefined, limit, cursor: from }),
        );
        session.output.items(page.flows, toFlowWire, flowColumns(Date.now()), "no flows");
        if (page.cursor !== null) session.output.message(`there may be more: continue with --cursor ${page.cursor}`);
      },
    }),
    show: defineVerb("Show a flow with its members", {
      about: `Shows a flow, and the first ${SHOWN_MEMBERS} of its members.`,
      examples: ["millrace flows show 0199f3c2-7b5e-7000-8000-0123456789ab"],
      arguments: { id },
      run: ({ id: flow }, session) => session.withClient((client) => show(client, flow, session)),
    }),
    members: defineVerb("Show the members of a flow", {
      about: "Shows the members of a flow, in an order that does not change.",
      examples: ["millrace flows members 0199f3c2-7b5e-7000-8000-0123456789ab --json | jq 'select(.status == \"dead\")'"],
      arguments: { id },
      options: {
        limit: number(`how many at most (default: 100, most: ${MAX_MEMBERS_PAGE})`),
        cursor: text("<cursor>", "continue where the previous list ended"),
      },
      async run({ id: flow, limit, cursor: from }, session) {
        const page = await session.withClient((client) => client.flows.members(flow, { limit, cursor: from }));
        session.output.items(page.members, toMemberWire, memberColumns(Date.now()), "no more members");
        if (page.cursor !== null) session.output.message(`there may be more: continue with --cursor ${page.cursor}`);
      },
    }),
    create: defineVerb("Create a flow", {
      about:
        "Creates a flow of the members in a file, and prints its id. The file is a JSON list of members as POST /api/v1/flows takes them: each with name and type, and as you like after, on_failure, payload and the options of a job. With --wait, waits until the flow has ended and prints it.",
      examples: [
        "millrace flows create flow.json --key import-42 --wait",
        `echo '[{"name":"a","type":"data:fetch"},{"name":"b","type":"report:make","after":"a"}]' | millrace flows create -`,
      ],
      arguments: { file: required("file", "a file of JSON; - reads stdin") },
      options: {
        key: text("<key>", "idempotency key: a second flow with the same key is the same flow"),
        keyTtl: time("how long the key is kept after the flow completed or was cancelled"),
        tag,
        meta,
        webhookUrl: { ...webhookUrl, about: "the URL to call when the flow completed or failed" },
        wait: toggle("wait until the flow has ended; exits with 8 if it did not complete"),
        waitTimeout: { ...time("how long to wait with --wait (default: 30s)"), field: "timeout" },
      },
      async run({ file, key, keyTtl, wait, waitTimeout, ...job }, session) {
        const { inWordsOfFile, readFlowFile } = await import("../flows/flow-input.ts");
        const { tags, meta: ownMeta, webhookUrl: url } = await readJobInput(job, session);
        const members = await readFlowFile(file, session);
        return session.withClient(async (client) => {
          const flow = await create(client, members, { key, keyTtl, tags, meta: ownMeta, webhookUrl: url }, session).catch(
            (error: unknown) => {
              throw inWordsOfFile(error);
            },
          );
          if (wait) return waitFor(client, flow, waitTimeout, session);
          if (session.output.json) session.output.value(toCreatedFlowWire(flow));
          else session.output.line(flow.id);
          if (!flow.created) session.output.message(`this is an existing flow with the same key; it is ${flow.status}`);
          return EXIT.ok;
        });
      },
    }),
    cancel: defineVerb("Cancel a flow", {
      about: "Cancels all members of a flow that have not ended. A flow that completed or failed is refused (exit code 5).",
      examples: ["millrace flows cancel 0199f3c2-7b5e-7000-8000-0123456789ab --reason 'wrong input'"],
      arguments: { id },
      options: { reason },
      run: ({ id: flow, reason: why }, session) =>
        session.withClient(async (client) => print(await client.flows.cancel(flow, { reason: why }), session)),
    }),
    retry: defineVerb("Retry what failed in a flow", {
      about:
        "Retries all members of a flow that are dead or failed; of a cancelled flow also those that were cancelled. What their death had cancelled runs again after them. Without any, it is refused (exit code 5).",
      examples: ["millrace flows retry 0199f3c2-7b5e-7000-8000-0123456789ab"],
      arguments: { id },
      options: { reason },
      run: ({ id: flow, reason: why }, session) =>
        session.withClient(async (client) => print(await client.flows.retry(flow, { reason: why }), session)),
    }),
  },
};

async function create(
  client: PlainClient,
  members: readonly FlowMemberInput[],
  options: FlowOptions,
  session: Session,
): Promise<CreatedFlow> {
  const check = await payloadChecker(client, session);
  for (const [index, { name, type, queue, payload }] of members.entries()) {
    await check({ type: type as string, queue }, payload).catch((error: unknown) => {
      throw memberError(error, name, index);
    });
  }
  return client.flow(members, options);
}

async function waitFor(client: PlainClient, flow: CreatedFlow, timeout: FlowWait["timeout"], session: Session): Promise<ExitCode> {
  const signal = session.interrupted();
  session.output.message(`${flow.created ? `created ${flow.id}` : `${flow.id} has the same key`}, waiting until it ends`);
  const { status } = await client.flows.wait(flow.id, { timeout, signal });
  await show(client, flow.id, session);
  return status === "completed" ? EXIT.ok : EXIT.jobFailed;
}

type FlowWait = NonNullable<Parameters<PlainClient["flows"]["wait"]>[1]>;

async function show(client: PlainClient, flowId: string, session: Session): Promise<void> {
  const flow = await client.flows.get(flowId);
  if (flow === null) {
    throw new CommandRefused(`there is no flow ${flowId}: it was removed, or pruned after its retention, or never existed`, EXIT.notFound);
  }
  print(flow, session);
  const { output } = session;
  if (output.json) return;
  const { members, cursor } = await client.flows.members(flowId, { limit: SHOWN_MEMBERS });
  output.line("");
  output.table(memberColumns(Date.now()), members);
  if (cursor !== null) output.message(`there are more: millrace flows members ${flowId} --cursor ${cursor}`);
}

function print(flow: Flow, { output }: Session): void {
  if (output.json) output.value(toFlowWire(flow));
  else printFlow(flow, output);
}
