/** Asking before something is done that cannot be taken back. */
import type { ReactNode } from "react";
import { Watched } from "./watched.ts";

/** A question. */
export interface Question {
  readonly title: string;
  readonly body: ReactNode;
  /** What the button says that means yes. */
  readonly yes: string;
  readonly danger?: boolean;
  /** What has to be typed first, for what destroys much. */
  readonly typed?: string;
}

/** The question that is open, and where its answer goes. */
export const question = new Watched<(Question & { readonly answer: (yes: boolean) => void }) | null>(null);

/** Asks, and answers whether it was meant. */
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
