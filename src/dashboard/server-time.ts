/** THE SERVER'S TIME. Ages are measured against it: by the clock of a browser that is a minute fast, every worker would look silent. */
import { Watched } from "./watched.ts";

const SECOND_MS = 1000;

/** How far the server's clock is ahead of the browser's, as far as answers show. */
export const aheadMs = new Watched(0);

/** Notes the time of an answer, from its header `Date`, which has whole seconds. Changes nothing while what is known fits the answer. */
export function noteServerTime(date: string | null, sentAt: number, receivedAt: number): void {
  const from = Date.parse(date ?? "");
  if (Number.isNaN(from)) return;
  const [least, most] = [from - receivedAt, from + SECOND_MS - sentAt];
  if (aheadMs.get() < least) aheadMs.set(least);
  else if (aheadMs.get() > most) aheadMs.set(most);
}

/** Now, by the clock of the server that last answered. */
export function serverNow(): number {
  return Date.now() + aheadMs.get();
}
