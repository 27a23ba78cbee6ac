/** ADDRESSES THAT CAN BE SEEN TO BE CLOSED are refused when a job is enqueued: its delivery would be refused for certain, long after. */
import { MillraceError } from "../core/errors.ts";
import { Blocked, type Guard } from "./guard.ts";

/** Throws `invalid_input` where nothing would ever be sent to this address, as far as the address alone tells. */
export function refuseVisibly(guard: Guard, url: string, field: string): void {
  try {
    guard.readUrl(url);
  } catch (error) {
    if (!(error instanceof Blocked)) throw error;
    throw new MillraceError("invalid_input", error.message.replace(/^the URL/, field), { field, cause: error });
  }
}
