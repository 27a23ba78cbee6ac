/** EVERY CHANGE goes through here: it is made, reported in a message, and the page refreshes. */
import type { ReactNode } from "react";
import { live } from "./live.ts";
import { messageOf } from "./parts/notices.tsx";
import { noteRefusal } from "./session.ts";
import { toast } from "./toasts.ts";

interface ActOptions {
  readonly undo?: () => Promise<unknown>;
  /** Shows a failure elsewhere than in a message. */
  readonly onFailure?: (error: unknown) => void;
}

/** Makes a change and reports it. A failure is reported, too, and returns undefined. */
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
    void live.refresh();
  }
}
