/**
 * A page whose script is fetched when it is first shown, or when the pointer comes near a link to it. If the server is away just then, it is
 * tried again until it is back: what a router does by itself, to load everything anew, would leave the reader with nothing at all.
 */
import { type ComponentType, type ReactElement, useEffect, useState } from "react";
import { Skeleton, Trouble } from "../parts/notices.tsx";

const AGAIN_MS = 2000;

/** A page that is there later. */
export function laterPage(load: () => Promise<ComponentType>): (() => ReactElement) & { preload: () => Promise<void> } {
  let loaded: ComponentType | null = null;
  const preload = async (): Promise<void> => {
    loaded ??= await load();
  };

  function LaterPage(): ReactElement {
    const [Page, setPage] = useState<ComponentType | null>(() => loaded);
    const [problem, setProblem] = useState<unknown>(null);
    const [tries, setTries] = useState(0);
    useEffect(() => {
      if (Page !== null) return;
      let timer: number | undefined;
      preload().then(
        () => setPage(() => loaded),
        (error: unknown) => {
          setProblem(error);
          timer = window.setTimeout(() => setTries(tries + 1), AGAIN_MS);
        },
      );
      return () => window.clearTimeout(timer);
    }, [Page, tries]);
    if (Page !== null) return <Page />;
    return problem === null ? <Skeleton /> : <Trouble error={problem} retry={() => setTries(tries + 1)} />;
  }

  // The router waits for this, and would give up with it.
  return Object.assign(LaterPage, { preload: () => preload().catch(() => {}) });
}
