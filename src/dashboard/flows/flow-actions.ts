/** RETRY, CANCEL AND DELETE of a whole flow. Each asks first: it changes many jobs at once. */
import { Ban, RotateCw, Trash2 } from "lucide-react";
import { counted } from "../../core/counted.ts";
import { act } from "../act.ts";
import { client, type Flow } from "../api.ts";
import { ask } from "../ask.ts";
import { nameOf } from "./flow-words.ts";

export const FLOW_ACTIONS = ["retry", "cancel", "delete"] as const;
export type FlowAction = (typeof FLOW_ACTIONS)[number];

export const FLOW_ACTION_WORDS: Readonly<Record<FlowAction, string>> = { retry: "Retry", cancel: "Cancel", delete: "Delete" };
export const FLOW_ACTION_ICONS = { retry: RotateCw, cancel: Ban, delete: Trash2 } as const;

/** How many members a retry runs again at once. */
function toRetry({ status, failed, cancelled }: Flow): number {
  return failed + (status === "cancelled" ? cancelled : 0);
}

/** Whether the flow allows the action as it stands. */
export function mayBe(action: FlowAction, flow: Flow): boolean {
  if (action === "retry") return toRetry(flow) > 0;
  return action === "cancel" ? flow.status === "running" : flow.status !== "running";
}

/** Asks, makes the change, and reports it. `running`: how many members are known to run. Returns whether it was made. */
export async function changeFlow(action: FlowAction, flow: Flow, running: number): Promise<boolean> {
  const name = nameOf(flow);
  switch (action) {
    case "retry": {
      const members = toRetry(flow);
      const [ended, others] =
        flow.status === "cancelled"
          ? ["dead, failed or cancelled", ""]
          : ["dead or failed", " Members that were cancelled because of them run again after them."];
      const options = await ask({
        title: `Retry ${counted(members, "member")} of ${name}?`,
        body: `${counted(members, `member is ${ended}`, `members are ${ended}`)}, and will be retried.${others} Completed members do not run again.`,
        yes: members === 1 ? "Retry it" : "Retry them",
      });
      if (options === null) return false;
      return wasMade(
        await act(
          () => client.flows.retry(flow.id, options),
          () => `${counted(members, "member")} of ${name} will run again`,
        ),
      );
    }
    case "cancel": {
      const options = await ask({
        title: `Cancel ${name}?`,
        body: `${counted(flow.open, "member has", "members have")} not ended and will be cancelled.${running === 0 ? "" : ` ${counted(running, "is running: its handler is", "are running: their handlers are")} told to stop; what they have done so far is not undone.`}`,
        yes: "Cancel the flow",
        no: "Do not cancel",
        danger: true,
      });
      if (options === null) return false;
      return wasMade(
        await act(
          () => client.flows.cancel(flow.id, options),
          () => `${name} is cancelled`,
        ),
      );
    }
    case "delete": {
      const options = await ask({
        title: `Delete ${name}?`,
        body: "This deletes the flow and what it knows of its members. The jobs of its members stay. It cannot be undone.",
        yes: "Delete",
        danger: true,
      });
      if (options === null) return false;
      return wasMade(
        await act(
          async () => (await client.remove(flow.id, options), true),
          () => `${name} is deleted`,
        ),
      );
    }
  }
}

function wasMade(answer: unknown): boolean {
  return answer !== undefined;
}
