/** Asks before a change that cannot be undone. */
import type { ReactNode } from "react";
import { Watched } from "./watched.ts";

export interface Question {
  readonly title: string;
  readonly body: ReactNode;
  /** The label of the button that confirms. */
  readonly yes: string;
  /** The label of the other button. Default: Cancel. */
  readonly no?: string;
  readonly danger?: boolean;
  /** A third button, for something smaller than what is asked. It closes the question. */
  readonly instead?: { readonly label: string; readonly act: () => void };
  /** What must be typed first, if much is destroyed. */
  readonly typed?: string;
}

/** The open question, and where its answer goes. */
export const question = new Watched<(Question & { readonly answer: (yes: boolean) => void }) | null>(null);

/** Resolves with whether the user confirmed. */
export function ask(asked: Question): Promise<boolean> {
  return new Promise((resolve) => {
    question.set({
      ...asked,
      answer: (yes) => {
        question.set(null);
        resolve(yes);
      },
    });
  });
}
