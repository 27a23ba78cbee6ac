/** WHAT A HANDLER DOES AS A MEMBER OF A FLOW: it looks how those ended that it waited for, and may add others. */
import type { Context } from "../../src/client/client.ts";
import { ALL_OTHERS } from "../../src/core/flow.ts";
import type { MemberScript } from "./flow-plan.ts";

/** `broken` is told if what it is given is not what its flow promises. */
export async function actAsMember({ flow }: Context, script: MemberScript, broken: (error: Error) => void = raise): Promise<void> {
  if (script.after.length > 0) await readOutcomes(flow, script, broken);
  if (script.adds !== undefined) await flow.add(script.adds);
}

async function readOutcomes(flow: Context["flow"], { after, onFailure }: MemberScript, broken: (error: Error) => void): Promise<void> {
  // What may have failed may have been retried since, and then has no outcome.
  if (onFailure === "run") return;
  const seen = new Set<string>();
  for await (const { name, status, result } of flow.each()) {
    const took = (result as { took?: unknown } | null)?.took;
    if (status === "completed" && typeof took === "number") seen.add(name);
    else if (after !== ALL_OTHERS)
      broken(new Error(`member ${flow.name} of ${flow.id} sees that ${name} ended ${status}, with ${JSON.stringify(result)}`));
  }
  const missing = after === ALL_OTHERS ? [] : after.filter((name) => !seen.has(name));
  if (missing.length > 0) broken(new Error(`member ${flow.name} of ${flow.id} is not told how ${missing.join(", ")} ended`));
}

function raise(error: Error): void {
  throw error;
}
