import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

/**
 * How many columns of a table must yield so that it is no wider than its place, at most `most`. It is measured, because the width depends on
 * the font and on the data; and before the page is painted, so that nothing jumps.
 */
export function useYielding(most: number): { readonly place: RefObject<HTMLDivElement | null>; readonly yielding: number } {
  const place = useRef<HTMLDivElement>(null);
  const [yielding, setYielding] = useState(0);

  useLayoutEffect(() => {
    if (yielding < most && isTooWide(place.current)) setYielding(yielding + 1);
  }, [yielding, most]);

  useEffect(() => {
    const box = place.current;
    const table = box?.querySelector("table");
    if (box === null || table === null || table === undefined) return;
    let width = box.clientWidth;
    const watcher = new ResizeObserver(() => {
      // With another width it starts again: columns may come back.
      if (box.clientWidth !== width) setYielding(0);
      else if (isTooWide(box)) setYielding((now) => Math.min(now + 1, most));
      width = box.clientWidth;
    });
    watcher.observe(box);
    watcher.observe(table);
    return () => watcher.disconnect();
  }, [most]);

  return { place, yielding };
}

function isTooWide(box: HTMLElement | null): boolean {
  return box !== null && box.scrollWidth > box.clientWidth;
}
