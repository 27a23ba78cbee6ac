/**
 * LISTS AS FUNCTIONS. What a list reads is bounded, if each job is looked up by its index. The server may choose otherwise by what it believes of
 * a table, and that is old: a backlog drains, a vacuum sees four rows in many pages, and then 10,000 jobs come. It then believed that to look up
 * one of them costs half the index, and read the whole table for each of 10,000 candidates. So these statements are functions, which have
 * settings of their own on any connection: one of ours, of the application, or behind a pooler.
 */
import { type Listing, type Listings, listings } from "../list-statements.ts";

/**
 * Planned with the values of each call: most filters are null, and take no part in its plan. Without the indexes a plan may be rated as so
 * costly that the server would compile it, for longer than it runs.
 */
const PLANNED_EACH_TIME = `stable language plpgsql set plan_cache_mode = force_custom_plan set jit = off
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off`;

type Node = Listing | Nodes;
interface Nodes {
  readonly [name: string]: Node;
}

/** Of each statement, the text that calls its function. */
type Calls<Of> = { readonly [Name in keyof Of]: Of[Name] extends Listing ? string : Calls<Of[Name]> };

export type ListStatements = Calls<Listings>;

/** Puts something in the place of each statement, whose name is made from those on the way to it. */
function mapped(nodes: Nodes, become: (name: string, listing: Listing) => unknown, path = "list"): object {
  const inPlace = Object.entries(nodes).map(([name, node]) => {
    const full = `${path}_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
    return [name, isListing(node) ? become(full, node) : mapped(node, become, full)];
  });
  return Object.fromEntries(inPlace) as object;
}

function isListing(node: Node): node is Listing {
  return typeof node["text"] === "string";
}

export function listCalls(s: string, digest: string): ListStatements {
  return mapped(listings(s), (name, { takes }) => {
    return `select * from ${s}.${name}_${digest}(${takes.map((_, index) => `$${index + 1}`).join(", ")})`;
  }) as ListStatements;
}

function namesAndTexts(s: string): [name: string, listing: Listing][] {
  const found: [string, Listing][] = [];
  mapped(listings(s), (name, listing) => found.push([name, listing]));
  return found;
}

/** The function of each statement. Each is made with all others, which takes a tenth of a millisecond. */
export const LISTS: readonly ((s: string, digest: string) => string)[] = namesAndTexts("s").map((_, index) => (s, digest) => {
  const [name, listing] = namesAndTexts(s)[index]!;
  return functionOf(s, `${name}_${digest}`, listing);
});

/** A text has its inputs as $1, $2 and so on; a function must give them names. */
const functionOf = (s: string, name: string, { takes, returns, text }: Listing): string => `
create or replace function ${s}.${name}(${takes.map((type, index) => `p_${index + 1} ${type}`).join(", ")}) returns table (${returns})
  ${PLANNED_EACH_TIME} as $$
begin
  return query ${text};
end $$;`;
