/** From one look to the next: soon at first, then a tenth of the time waited so far. A look costs as much as the work that it waits for. */
const SOONEST_MS = 10;
const LATEST_MS = 100;

/** Resolves when the question is answered with yes. Polling: the facts are a server's, or another process's. */
export async function until(question: () => Promise<boolean> | boolean): Promise<void> {
  const begun = performance.now();
  while (!(await question())) {
    const waitedMs = performance.now() - begun;
    await new Promise((resolve) => setTimeout(resolve, Math.min(LATEST_MS, Math.max(SOONEST_MS, waitedMs / 10))));
  }
}
