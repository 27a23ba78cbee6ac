import { checkSignalPayload } from "../check-payload.ts";
import { defineCommand, reason, required, text } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readJson } from "../job-input.ts";

export const signal = defineCommand({
  about:
    "Sends a signal to a job whose handler waits for it, or will. The first signal of a name counts: another one, or one that comes too late, is not accepted (exit code 5).",
  examples: [
    "millrace signal 0199f3c2-7b5e-7000-8000-0123456789ab approval",
    `millrace signal 0199f3c2-7b5e-7000-8000-0123456789ab approval --payload '{"by":"ann"}'`,
  ],
  arguments: { id: required("id", "the id of a job"), name: required("name", "the name of the signal") },
  options: {
    payload: text("<json>", "any JSON; @file reads a file, - reads stdin (default: none)"),
    signalId: text("<id>", "identifies the signal: the same one, sent again, is accepted again (default: random)"),
    reason,
  },
  async run({ id, name, payload: given, signalId, reason: why }, session) {
    const payload = given === undefined ? undefined : await readJson(given, "--payload", session);
    return session.withClient(async (client): Promise<ExitCode> => {
      await checkSignalPayload(client, id, name, payload, session);
      const answer = await client.signal(id, name, payload, { id: signalId, reason: why });
      const { output } = session;
      if (output.json) output.value(answer);
      else output.message(answer.accepted ? `sent ${name} to ${id}` : REFUSALS[answer.reason](name));
      return answer.accepted ? EXIT.ok : EXIT.conflict;
    });
  },
});

const REFUSALS = {
  already_received: (name: string) => `not accepted: the job has already received another signal ${name}`,
  timed_out: (name: string) => `not accepted: the job does not wait for ${name} any more`,
} as const;
