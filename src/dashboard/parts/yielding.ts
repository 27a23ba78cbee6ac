import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

/**
 * How many columns of a table must yield so that it is no wider than its place, at most `most`. It is measured, because the width depends on
 * the font and on the data; and before the page is painted, so that nothing jumps.
 */
export function useYielding(most: number): { readonly place: RefObject<HTMLDivElement | null>; readonly yielding: number } {
  const place = useRef<HTMLDivElement>(null);
  // An object, so that each step is drawn and measured, also one that starts again at 0 from 0.
  const [step, setStep] = useState({ yielding: 0 });

  useLayoutEffect(() => {
    if (step.yielding < most && isTooWide(place.current)) setStep({ yielding: step.yielding + 1 });
  }, [step, most]);

  useEffect(() => {
    const box = place.current;
    const table = box?.querySelector("table");
    if (box === null || table === null || table === undefined) return;
    let width = box.clientWidth;
    const watcher = new ResizeObserver(() => {
      // With another width it starts at 0: columns may come back.
      if (box.clientWidth !== width) setStep({ yielding: 0 });
      else if (isTooWide(box)) setStep(({ yielding }) => ({ yielding }));
      width = box.clientWidth;
    });
    watcher.observe(box);
    watcher.observe(table);
    return () => watcher.disconnect();
  }, []);

  return { place, yielding: step.yielding };
}

function isTooWide(box: HTMLElement | null): boolean {
  return box !== null && box.scrollWidth > box.clientWidth;
}
