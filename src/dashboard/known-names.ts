/** Names that fields suggest. They come from small data that other parts of the page also use. */
import { isInternalType } from "../core/internal.ts";
import { useLatestTypes, useQueues, useSchedules, useWorkers } from "./queries.ts";

/** Types that workers handle, schedules make, or the newest jobs have. */
export function useKnownTypes(): string[] {
  const { data: workers = [] } = useWorkers();
  const { data: schedules = [] } = useSchedules();
  const { data: latest = [] } = useLatestTypes();
  const types = [
    ...workers.flatMap((worker) => (worker.types === "*" ? [] : worker.types)),
    ...schedules.map((schedule) => schedule.type),
    ...latest,
  ];
  return [...new Set(types)].filter((type) => !isInternalType(type)).sort();
}

export function useKnownQueues(): string[] {
  const { data: queues = [] } = useQueues();
  return queues.map(({ name }) => name);
}
