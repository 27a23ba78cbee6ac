/** Asks before a change, and why it is made. */
import type { ReactNode } from "react";
import type { ChangeOptions } from "../core/manual-change.ts";
import { Watched } from "./watched.ts";

export interface Question {
  readonly title: string;
  readonly body: ReactNode;
  /** The label of the button that confirms. */
  readonly yes: string;
  /** The label of the other button. Default: Cancel. */
  readonly no?: string;
  readonly danger?: boolean;
  /** A third button, for something smaller than what is asked. `onChoose` is called before the answer, which is the same as with `yes`. */
  readonly instead?: { readonly label: string; readonly onChoose: () => void };
  /** What must be typed first, if much is destroyed. */
  readonly typed?: string;
}

/** The options of the change that the user confirmed; null if the user did not. */
type Answer = ChangeOptions | null;

/** The open question, and where its answer goes. */
export const question = new Watched<(Question & { readonly answer: (given: Answer) => void }) | null>(null);

/** Resolves when the user has answered. */
export function ask(asked: Question): Promise<Answer> {
  return new Promise((resolve) => {
    question.set({
      ...asked,
      answer: (given) => {
        question.set(null);
        resolve(given);
      },
    });
  });
}
