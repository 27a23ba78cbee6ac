/** A JOB AND ITS FLOW. A file of its own, because core/job.ts needs it and core/flow.ts needs that one. */
import type { Facets } from "./facets.ts";
import { INTERNAL_TYPES } from "./internal.ts";
import type { Parent } from "./steps.ts";

/** Under this field the index of facets has the members of a flow. No user can declare it: a field has no colon. */
export const FLOW_FACET: string = `${INTERNAL_TYPES}flow`;

/** The parent of a member is its flow, which has no lives. */
export const LIFE_OF_FLOW = 0;

/** The flow of a job, and the name of the job there. */
export interface FlowRef {
  readonly id: string;
  readonly name: string;
}

/** The coalescing key of a job, and what is known of it. */
export interface CoalesceRef {
  readonly id: string;
  readonly key: string;
}

export function parentOf(flow: string, name: string): Parent {
  return { id: flow, step: name, life: LIFE_OF_FLOW };
}

export function isFlowParent(parent: { readonly life: number | null } | null): boolean {
  return parent?.life === LIFE_OF_FLOW;
}

/** The parent of a job with a coalescing key is what is known of that key: see coalesce.ts. */
export const LIFE_OF_KEY = -1;

export function isKeyParent(parent: { readonly life: number | null } | null): boolean {
  return parent?.life === LIFE_OF_KEY;
}

export function parentOfKey(id: string, key: string): Parent {
  return { id, step: key, life: LIFE_OF_KEY };
}

/** Null if the job has no coalescing key. */
export function coalesceOf({ parent }: { readonly parent: Parent | null }): CoalesceRef | null {
  return isKeyParent(parent) ? { id: parent!.id, key: parent!.step } : null;
}

/** Null if the job is in no flow. */
export function flowOf({ parent }: { readonly parent: Parent | null }): FlowRef | null {
  return isFlowParent(parent) ? { id: parent!.id, name: parent!.step } : null;
}

/** The job that called it; null if none did. */
export function callerOf({ parent }: { readonly parent: Parent | null }): Parent | null {
  return isFlowParent(parent) || isKeyParent(parent) ? null : parent;
}

/** The facets that a queue declared. */
export function declaredFacets(facets: Facets | null): Facets | null {
  if (facets === null || !Object.hasOwn(facets, FLOW_FACET)) return facets;
  const { [FLOW_FACET]: _, ...declared } = facets;
  return Object.keys(declared).length === 0 ? null : declared;
}

/** The facets of a job after its payload was edited: it stays in its flow. */
export function facetsInFlow(declared: Facets | null, { parent }: { readonly parent: Parent | null }): Facets | null {
  const flow = flowOf({ parent });
  return flow === null ? declared : { ...declared, [FLOW_FACET]: flow.id };
}
