/** One run at a time: those who ask while one is under way share it. The next who asks after its end, good or bad, starts another. */
export function sharedRun<Answer>(run: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<Answer> | null = null;
  return () => (running ??= run().finally(() => (running = null)));
}
