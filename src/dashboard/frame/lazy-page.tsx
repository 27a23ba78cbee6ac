/**
 * A page whose script is loaded when it is first shown, or when the pointer comes near a link to it. If the server is away, loading is
 * retried until it is back. The router alone would reload everything, and leave the user with nothing.
 */
import { type ComponentType, type ReactElement, useEffect, useState } from "react";
import { Skeleton, Trouble } from "../parts/notices.tsx";

const AGAIN_MS = 2000;

export function lazyPage(load: () => Promise<ComponentType>): (() => ReactElement) & { preload: () => Promise<void> } {
  let loaded: ComponentType | null = null;
  const preload = async (): Promise<void> => {
    loaded ??= await load();
  };

  function LazyPage(): ReactElement {
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

  // The router waits for this, and would fail with it.
  return Object.assign(LazyPage, { preload: () => preload().catch(() => {}) });
}
