/** DOING SOMETHING. Every change goes this way: it is done, said, and the page looks at what became of it. */
import type { ReactNode } from "react";
import { live } from "./live.ts";
import { messageOf } from "./parts/notices.tsx";
import { noteRefusal } from "./session.ts";
import { toast } from "./toasts.ts";

/** What can be added to a change. */
interface ActOptions {
  /** Takes it back. */
  readonly undo?: () => Promise<unknown>;
  /** Told of a failure, where that is said beside what was typed and not as a message. */
  readonly onFailure?: (error: unknown) => void;
}

/** Does it, and says so. A failure is said too, and answered as undefined. */
export async function act<Answer>(
  work: () => Promise<Answer>,
  done: (answer: Answer) => ReactNode,
  { undo, onFailure = (error) => toast(messageOf(error), { kind: "failed" }) }: ActOptions = {},
): Promise<Answer | undefined> {
  try {
    const answer = await work();
    toast(done(answer), undo === undefined ? {} : { undo: () => void act(undo, () => "Undone.") });
    return answer;
  } catch (error) {
    noteRefusal(error);
    onFailure(error);
    return undefined;
  } finally {
    live.lookNow();
  }
}
