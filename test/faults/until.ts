const LOOK_MS = 10;

/** Resolves when the question is answered with yes. Polling: the facts are a server's, or another process's. */
export async function until(question: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await question())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
