/** DOING SOMETHING. Every change goes this way: it is done, said, and the page looks at what became of it. */
import type { ReactNode } from "react";
import { live } from "./live.ts";
import { messageOf } from "./parts/notices.tsx";
import { noteRefusal } from "./session.ts";
import { toast } from "./toasts.ts";

/** Does it, and says so. A failure is said too, and answered as undefined. */
export async function act<Answer>(
  work: () => Promise<Answer>,
  done: (answer: Answer) => ReactNode,
  undo?: () => Promise<unknown>,
): Promise<Answer | undefined> {
  try {
    const answer = await work();
    toast(done(answer), undo === undefined ? {} : { undo: () => void act(undo, () => "Undone.") });
    return answer;
  } catch (error) {
    noteRefusal(error);
    toast(messageOf(error), { kind: "failed" });
    return undefined;
  } finally {
    live.lookNow();
  }
}
