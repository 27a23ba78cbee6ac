/** THE SHAPES that the API speaks in. Apart from the client of the page, which needs a browser: what only computes with them does not. */
import type { createRemoteClient } from "../http/remote-client.ts";

/** All that the page can ask for. */
export type Client = ReturnType<typeof createRemoteClient>;
/** Figures over all queues. */
export type Stats = Awaited<ReturnType<Client["stats"]>>;
/** What was counted in one period. */
export type HistoryPoint = Awaited<ReturnType<Client["history"]>>[number];
/** A queue: its settings and counts. */
export type Queue = Awaited<ReturnType<Client["queues"]>>[number];
/** What a queue can be told. */
export type QueueOptions = Parameters<Client["configure"]>[1];
/** A worker in any process. */
export type Worker = Awaited<ReturnType<Client["workers"]>>[number];
/** A page of jobs. */
export type JobPage = Awaited<ReturnType<Client["list"]>>;
/** Which jobs, and which page of them. */
export type ListJobs = NonNullable<Parameters<Client["list"]>[0]>;
/** Dead letters by error. */
export type ErrorGroups = Awaited<ReturnType<Client["dead"]["groups"]>>;
/** Dead letters whose errors look alike. */
export type ErrorGroup = ErrorGroups["groups"][number];
/** Which jobs a change of many is for. */
export type JobFilter = NonNullable<Parameters<Client["bulk"]["start"]>[0]["filter"]>;
/** A change of many, in the server. */
export type BulkOperation = Awaited<ReturnType<Client["bulk"]["start"]>>;
/** Why a job is not running. */
export type Explanation = Awaited<ReturnType<Client["explain"]>>;
/** A schedule as people see it. */
export type Schedule = Awaited<ReturnType<Client["schedules"]["list"]>>[number];
/** A schedule as it is given. */
export type ScheduleInput = Parameters<Client["schedules"]["upsert"]>[0];
/** What can be said of a job beside its type and payload. */
export type EnqueueOptions = Omit<NonNullable<Parameters<Client["enqueueMany"]>[0][number]>, "type" | "payload" | "id">;
