/** NEVER MOVE WHAT ONE READS. While the pointer rests on a part of the page, or the focus is in it, what it shows stays as it is. */
import { type HTMLAttributes, useState } from "react";
import { answeredLooks, looks } from "./live.ts";
import { useWatched } from "./watched.ts";

type HoldProps = Pick<HTMLAttributes<HTMLElement>, "onPointerEnter" | "onPointerLeave" | "onFocus" | "onBlur">;

/** The value, held back while somebody is at it; whether it is; and what the part around it must listen to. */
export function useHeld<Value>(value: Value): { readonly shown: Value; readonly isHeld: boolean; readonly hold: HoldProps } {
  // Answers count, too: the question alone shows the news that were held back until then, and the answer comes after them.
  const asked = useWatched(looks) + useWatched(answeredLooks);
  const [held, setHeld] = useState<{ readonly value: Value; readonly asked: number } | null>(null);
  const [by, setBy] = useState({ pointer: false, focus: false });
  const isHeld = by.pointer || by.focus;
  // What the reader did themselves, or asked for, is shown at once.
  const isNews = held !== null && held.asked !== asked && held.value !== value;
  if (isHeld && (held === null || isNews)) setHeld({ value, asked });
  if (!isHeld && held !== null) setHeld(null);
  return {
    shown: isHeld && held !== null && !isNews ? held.value : value,
    isHeld,
    hold: {
      onPointerEnter: (event) => {
        // A finger leaves no pointer behind that would leave again.
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
