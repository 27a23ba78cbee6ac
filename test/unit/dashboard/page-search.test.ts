import { beforeEach, describe, expect, test } from "vitest";
import { MAX_CANDIDATES } from "../../../src/core/filter.ts";
import { fillPage, pageSearch } from "../../../src/dashboard/page-search.ts";
import type { JobPage, ListJobs } from "../../../src/dashboard/shapes.ts";

const QUERY: ListJobs = { q: "needle", from: 60_000, limit: 2 };

/** A page of jobs with these ids. */
function pageOf(ids: readonly string[], cursor: string | null): JobPage {
  return { jobs: ids.map((id) => ({ id })) as unknown as JobPage["jobs"], cursor };
}

/** A list whose calls find these ids, one batch each; the cursor is the number of the next call. */
function listOf(...batches: readonly string[][]): { asked: ListJobs[]; list: (query: ListJobs) => Promise<JobPage> } {
  const asked: ListJobs[] = [];
  const list = async (query: ListJobs): Promise<JobPage> => {
    asked.push(query);
    const call = Number(query.cursor ?? 0);
    return pageOf(batches[call] ?? [], call + 1 < batches.length ? String(call + 1) : null);
  };
  return { asked, list };
}

function idsOf({ jobs }: JobPage): string[] {
  return jobs.map(({ id }) => id);
}

const never = (): AbortSignal => new AbortController().signal;

beforeEach(() => pageSearch.set(null));

describe("a page that fills itself", () => {
  test("goes on until it is full, and shows what it has found meanwhile", async () => {
    const { asked, list } = listOf([], ["a"], [], ["b"], ["c"]);
    const shown: string[][] = [];
    const page = await fillPage(list, QUERY, undefined, never(), (part) => shown.push(idsOf(part)));
    expect(idsOf(page)).toEqual(["a", "b"]);
    expect(page.cursor).toBe("4");
    expect(shown).toEqual([[], ["a"], ["a"]]);
    expect(asked.map(({ limit }) => limit)).toEqual([2, 2, 1, 1]);
    expect(pageSearch.get()).toMatchObject({ looked: 4 * MAX_CANDIDATES, isOver: true });
  });

  test("of which the first call finds enough is no search", async () => {
    const { asked, list } = listOf(["a", "b"], ["c"]);
    expect(idsOf(await fillPage(list, QUERY, undefined, never(), () => {}))).toEqual(["a", "b"]);
    expect(asked).toHaveLength(1);
    expect(pageSearch.get()).toBeNull();
  });

  test("is stopped after the call under way, and can be continued from there", async () => {
    const { asked, list } = listOf([], [], ["a"]);
    const page = await fillPage(list, QUERY, undefined, never(), () => pageSearch.get()?.stop());
    expect(page).toEqual(pageOf([], "2"));
    expect(asked).toHaveLength(2);
    expect(pageSearch.get()).toMatchObject({ looked: 2 * MAX_CANDIDATES, isOver: true });
  });

  test("is only looked at again once its search is over, and keeps what was found later", async () => {
    const { asked, list } = listOf([], ["a"]);
    const before = await fillPage(list, QUERY, undefined, never(), () => {});
    asked.length = 0;
    expect(idsOf(await fillPage(list, QUERY, before, never(), () => {}))).toEqual(["a"]);
    expect(asked).toEqual([QUERY]);
  });

  test("searches again from the start when its search is forgotten, so that a deleted job leaves it", async () => {
    const before = await fillPage(listOf([], ["a"]).list, QUERY, undefined, never(), () => {});
    pageSearch.set(null);
    expect(await fillPage(listOf([], []).list, QUERY, before, never(), () => {})).toEqual(pageOf([], null));
  });

  test("goes on where something interrupted its search", async () => {
    const { asked, list } = listOf([], ["a"], [], ["b"]);
    const leaving = new AbortController();
    let seen: JobPage | undefined;
    const interrupted = fillPage(list, QUERY, undefined, leaving.signal, (part) => {
      seen = part;
      if (part.jobs.length > 0) leaving.abort();
    });
    await expect(interrupted).rejects.toThrow();
    asked.length = 0;
    expect(idsOf(await fillPage(list, QUERY, seen, never(), () => {}))).toEqual(["a", "b"]);
    expect(asked.map(({ cursor }) => cursor)).toEqual(["2", "3"]);
  });

  test("of another time is another search", async () => {
    const { asked, list } = listOf([], ["a"]);
    const before = await fillPage(list, QUERY, undefined, never(), () => {});
    asked.length = 0;
    const later = { ...QUERY, from: 120_000 };
    await fillPage(list, later, before, never(), () => {});
    expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, "1"]);
    expect(pageSearch.get()?.key).toBe(JSON.stringify(later));
  });
});
