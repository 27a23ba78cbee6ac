import { deliveryOf } from "../core/delivery.ts";
import { FLOW_QUEUE, flowMove, type FlowHead, jobStatusOf, readHead } from "../core/flow.ts";
import type { FlowParts } from "./flow-parts.ts";

/**
 * Gives the job of a flow the status of the flow, and tells of its end. Returns false if something was locked. Others may do the same for an earlier
 * end, and be late: so it looks again until both agree.
 */
export async function endFlow(parts: FlowParts, id: string): Promise<boolean> {
  const { store } = parts;
  for (;;) {
    const head = await headOf(parts, id);
    if (head === null) return true;
    const [answer] = await store.change([id], flowMove(head.status));
    if (answer!.kind === "locked") return false;
    if (!(await deliver(parts, id, head))) return false;
    if (answer!.kind === "ok") tell(parts, id, head);
    const later = await headOf(parts, id);
    if (later === null || (later.status === head.status && later.endedAt === head.endedAt)) return true;
  }
}

async function headOf({ store }: FlowParts, id: string): Promise<FlowHead | null> {
  const [page] = await store.readFlows([{ id, names: [] }]);
  return page === null ? null : readHead(page!.head);
}

/** The webhook of the flow, once for each end: its time tells ends apart. */
async function deliver({ store }: FlowParts, id: string, { status, endedAt }: FlowHead): Promise<boolean> {
  const [job] = endedAt === null ? [null] : await store.find([id]);
  const delivery = job === null || job === undefined ? null : deliveryOf(job, endedAt!, jobStatusOf(status));
  if (delivery === null) return true;
  const [answer] = await store.insert([delivery]);
  return answer!.kind !== "locked";
}

function tell({ announce, clock }: FlowParts, flowId: string, { status, total }: FlowHead): void {
  if (status === "running") return;
  announce.ended(flowId);
  if (announce.wanted()) announce.publish([{ event: `flow:${status}`, at: clock.now(), flowId, queue: FLOW_QUEUE, members: total }]);
}
