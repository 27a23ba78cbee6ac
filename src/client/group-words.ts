import { groupWords } from "../core/error-group.ts";
import type { Store } from "../store/store.ts";

/** What the error of a group says, by the job that ended with it last; null if no such job is stored any more. */
export async function readGroupWords(store: Pick<Store, "list">, group: string | undefined): Promise<string | null> {
  if (group === undefined) return null;
  const { jobs } = await store.list({ status: ["dead", "failed"], group, internal: true, sort: "state", limit: 1 });
  const error = jobs[0]?.error ?? null;
  return error === null ? null : groupWords(error);
}

/** A group as the audit names it: by its words, if they are known, and by its id for filters. */
export function auditedGroup(group: string | undefined, words: string | null): { readonly group?: string } {
  if (group === undefined) return {};
  return { group: words === null ? group : `"${words}" (${group})` };
}
