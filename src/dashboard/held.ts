/** NEVER MOVES WHAT SOMEBODY READS. While the pointer is on a part of the page, or the focus is in it, its content does not change. */
import { type HTMLAttributes, useState } from "react";
import { answeredRefreshes, refreshes } from "./live.ts";
import { useWatched } from "./use-watched.ts";

type HoldProps = Pick<HTMLAttributes<HTMLElement>, "onPointerEnter" | "onPointerLeave" | "onFocus" | "onBlur">;

/** The value to show, whether it is held back, and the listeners for the element around it. */
export function useHeld<Value>(value: Value): { readonly shown: Value; readonly isHeld: boolean; readonly hold: HoldProps } {
  // A refresh counts twice: its start shows what was held back until then, its answer shows what is new.
  const asked = useWatched(refreshes) + useWatched(answeredRefreshes);
  const [held, setHeld] = useState<{ readonly value: Value; readonly asked: number } | null>(null);
  const [by, setBy] = useState({ pointer: false, focus: false });
  const isHeld = by.pointer || by.focus;
  // What the user did or asked for is shown at once.
  const isNews = held !== null && held.asked !== asked && held.value !== value;
  // Nothing yet is not held: what comes then is the first to be read.
  if (isHeld && value !== undefined && (held === null || isNews)) setHeld({ value, asked });
  if (!isHeld && held !== null) setHeld(null);
  return {
    shown: isHeld && held !== null && !isNews ? held.value : value,
    isHeld,
    hold: {
      onPointerEnter: (event) => {
        // Touch has no pointer that rests and leaves.
        if (event.pointerType === "mouse") setBy((now) => ({ ...now, pointer: true }));
      },
      onPointerLeave: () => setBy((now) => ({ ...now, pointer: false })),
      onFocus: (event) => {
        if (event.target.matches(":focus-visible")) setBy((now) => ({ ...now, focus: true }));
      },
      onBlur: (event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setBy((now) => ({ ...now, focus: false }));
      },
    },
  };
}
