/** THE TYPES OF THE API. Apart from the page's client, which needs a browser: code that only computes with them does not. */
import type { createRemoteClient } from "../http/remote-client.ts";

export type Client = ReturnType<typeof createRemoteClient>;
export type Stats = Awaited<ReturnType<Client["stats"]>>;
/** The statistics of one period. */
export type HistoryPoint = Awaited<ReturnType<Client["history"]>>[number];
export type Queue = Awaited<ReturnType<Client["queues"]>>[number];
/** A queue with its types that wait. */
export type QueueDetails = NonNullable<Awaited<ReturnType<Client["queue"]>>>;
/** What one type of a queue did. */
export type TypeFigures = Awaited<ReturnType<Client["queueTypes"]>>[number];
/** Queue settings. */
export type QueueOptions = Parameters<Client["configure"]>[1];
/** How much of its limits a queue uses, with its busiest limit keys. */
export type QueueLimitUse = NonNullable<Awaited<ReturnType<Client["limits"]["use"]>>>;
/** How much of its limits a limit key uses. */
export type KeyLimitUse = QueueLimitUse["keys"][number];
/** A page of keys with limits of their own. */
export type KeyLimitsPage = Awaited<ReturnType<Client["limits"]["list"]>>;
/** A limit key, or all jobs without one, with limits of its own. */
export type KeyLimitsEntry = KeyLimitsPage["keys"][number];
export type Worker = Awaited<ReturnType<Client["workers"]>>[number];
export type FormerWorker = Awaited<ReturnType<Client["formerWorkers"]>>[number];
export type JobPage = Awaited<ReturnType<Client["list"]>>;
/** A step of a job. */
export type JobStep = Awaited<ReturnType<Client["steps"]>>[number];
/** A filter and a page. */
export type ListJobs = NonNullable<Parameters<Client["list"]>[0]>;
/** Dead and failed jobs by the value of a facet. */
export type FacetCounts = Awaited<ReturnType<Client["facets"]>>;
/** Dead letters by error. */
export type ErrorGroups = Awaited<ReturnType<Client["dead"]["groups"]>>;
/** Dead letters whose errors look alike. */
export type ErrorGroup = ErrorGroups["groups"][number];
/** Which jobs a bulk operation changes. */
export type JobFilter = NonNullable<Parameters<Client["bulk"]["start"]>[0]["filter"]>;
/** How many jobs a bulk operation would change. */
export type BulkPreview = Awaited<ReturnType<Client["bulk"]["preview"]>>;
export type BulkOperation = Awaited<ReturnType<Client["bulk"]["start"]>>;
/** Jobs that run after each other. */
export type Flow = NonNullable<Awaited<ReturnType<Client["flows"]["get"]>>>;
/** Which flows to list. */
export type ListFlows = NonNullable<Parameters<Client["flows"]["list"]>[0]>;
export type FlowPage = Awaited<ReturnType<Client["flows"]["list"]>>;
/** A job of a flow, as people see it. */
export type FlowMember = Awaited<ReturnType<Client["flows"]["members"]>>["members"][number];
/** A page of bulk operations. */
export type BulkPage = Awaited<ReturnType<Client["bulk"]["list"]>>;
/** Why a job is not running. */
export type Explanation = Awaited<ReturnType<Client["explain"]>>;
export type Schedule = Awaited<ReturnType<Client["schedules"]["list"]>>[number];
/** A schedule to create or update. */
export type ScheduleInput = Parameters<Client["schedules"]["upsert"]>[0];
/** The options of a job. */
export type EnqueueOptions = Omit<NonNullable<Parameters<Client["enqueueMany"]>[0][number]>, "type" | "payload" | "id">;

/** Something that needs attention. */
export type Finding = Awaited<ReturnType<Client["attention"]>>[number];
