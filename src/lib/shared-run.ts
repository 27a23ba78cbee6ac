/** One run at a time: concurrent callers share it. A call after its end starts another. */
export function sharedRun<Answer>(run: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<Answer> | null = null;
  return () => (running ??= run().finally(() => (running = null)));
}
