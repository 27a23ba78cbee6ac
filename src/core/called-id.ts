import { createHash } from "node:crypto";

/** Who calls a job, or the flow that it is a member of: `life` tells those of a restarted job from those before. */
export interface Caller {
  readonly id: string;
  readonly life: number;
}

/**
 * The id of a called job: the time of its caller, the partition of its own queue, and digits of a digest. A UUIDv7 as any other (see lib/id.ts);
 * its bucket on Redis is one of all, so children of one job do not fill a single bucket.
 */
export function callId({ id, life }: Caller, step: string, partition: number): string {
  const digest = createHash("sha256").update(`${id} ${life} ${step}`).digest("hex");
  const variant = (0x8000 | ((partition & 0x3ff) << 4) | Number.parseInt(digest[0]!, 16)).toString(16);
  return `${id.slice(0, 15)}${digest.slice(1, 4)}-${variant}-${digest.slice(4, 16)}`;
}
