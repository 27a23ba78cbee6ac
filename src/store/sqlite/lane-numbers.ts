/**
 * THE NUMBERS OF LANES. A lane is one (queue, type). Its jobs without a limit key have its own number; those with one have another number,
 * so that a claim of jobs without keys never meets them: index entries of a lane with keys stand apart.
 */

/** No job has this lane. */
export const NO_LANE = -1;

/** The number of a lane's jobs with a limit key. */
export function keyedLane(lane: number): number {
  return NO_LANE - lane;
}

export function isKeyed(lane: number): boolean {
  return lane < 0;
}

/** The lane, whether its jobs have keys or not. */
export function plainLane(lane: number): number {
  return isKeyed(lane) ? NO_LANE - lane : lane;
}
