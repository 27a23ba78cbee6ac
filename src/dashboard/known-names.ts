/** Names that fields can suggest: nothing here is asked for on purpose beyond what is small and known anyway. */
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
  return [...new Set(types)].sort();
}

/** The names of all queues. */
export function useKnownQueues(): string[] {
  const { data: queues = [] } = useQueues();
  return queues.map(({ name }) => name);
}
