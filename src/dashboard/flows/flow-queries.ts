/** What the pages of flows ask the API for. */
import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { MAX_MEMBERS_PAGE } from "../../core/flow.ts";
import { client, type Flow, type FlowMember, type FlowPage, type ListFlows } from "../api.ts";

/** Flows, newest first. */
export function useFlows(query: ListFlows): UseQueryResult<FlowPage> {
  return useQuery({ queryKey: ["flows", query], queryFn: () => client.flows.list(query), placeholderData: keepPreviousData });
}

/** One flow; null if it does not exist. */
export function useFlow(id: string): UseQueryResult<Flow | null> {
  return useQuery({ queryKey: ["flows", id], queryFn: () => client.flows.get(id) });
}

/** How often members are fetched, for each request that it takes. And those of many requests, once the flow has ended. */
const MEMBERS_MS = 5000;
const ENDED_MS = 300_000;

/** Members of a flow: all of them, or those that were asked for. */
export interface SomeMembers {
  readonly members: readonly FlowMember[];
  readonly isAll: boolean;
}

/**
 * The first members of a flow, at most so many. As many as one request has are fetched with every event. More are not: each time costs a request for
 * each thousand.
 */
export function useMembers({ id, members, status }: Pick<Flow, "id" | "members" | "status">, most: number): UseQueryResult<SomeMembers> {
  const requests = Math.ceil(Math.min(members, most) / MAX_MEMBERS_PAGE);
  return useQuery({
    queryKey: [requests > 1 ? "members" : "flows", id, "members", most],
    queryFn: ({ signal }) => readMembers(id, most, signal),
    meta: { everyMs: requests > 1 && status !== "running" ? ENDED_MS : requests * MEMBERS_MS },
    placeholderData: keepPreviousData,
  });
}

/** The members of the flow of a job: the first thousand. */
export function useFellowMembers(flowId: string): UseQueryResult<SomeMembers> {
  return useQuery({
    queryKey: ["members", flowId, "members", MAX_MEMBERS_PAGE],
    queryFn: ({ signal }) => readMembers(flowId, MAX_MEMBERS_PAGE, signal),
  });
}

async function readMembers(id: string, most: number, signal: AbortSignal): Promise<SomeMembers> {
  const members: FlowMember[] = [];
  let cursor: string | null = null;
  do {
    signal.throwIfAborted();
    const page: Awaited<ReturnType<typeof client.flows.members>> = await client.flows.members(id, { limit: MAX_MEMBERS_PAGE, cursor });
    members.push(...page.members);
    cursor = page.cursor;
  } while (cursor !== null && members.length < most);
  return { members, isAll: cursor === null };
}
