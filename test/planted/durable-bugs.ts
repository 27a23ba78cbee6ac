import { callId } from "../../src/core/called-id.ts";
import { OPEN } from "../../src/core/lifecycle.ts";
import { partitionOf } from "../../src/core/partition.ts";
import type { NewStep, StepRecord } from "../../src/core/steps.ts";
import type { Settlement, StepEndAnswer, Store } from "../../src/store/store.ts";
import type { WorldPlan } from "../simulation/plan.ts";
import { changed, type PlantedBug } from "./planted-bug.ts";

const hasDurableWork = ({ traits }: WorldPlan): boolean => traits.has("durable");

/** The same store, whose settlements are another. */
function settling(inner: Store, otherwise: (settlement: Settlement) => Settlement): Store {
  return changed(inner, { exchange: (settlements, claims) => inner.exchange(settlements.map(otherwise), claims) });
}

/** The same store, which shows who holds a lease other steps than there are. */
function reading(inner: Store, otherwise: (steps: readonly StepRecord[]) => readonly StepRecord[]): Store {
  return changed(inner, {
    readSteps: async (id, fence, after) => {
      const page = await inner.readSteps(id, fence, after);
      return page === null || fence === null ? page : { ...page, steps: otherwise(page.steps) };
    },
  });
}

export const durableBugs: readonly PlantedBug[] = [
  {
    name: "a step is not stored, and its worker is told that it is",
    breaks: ["step"],
    needs: hasDurableWork,
    store: (inner) =>
      changed(inner, {
        keepSteps: async (keeps) => keeps.map(() => "ok"),
      }),
  },
  {
    name: "a step is stored whatever lease it comes under",
    breaks: ["I4"],
    needs: (plan) => hasDurableWork(plan) && plan.faults.has("freeze"),
    store: (inner) =>
      changed(inner, {
        keepSteps: async (keeps) => (await inner.keepSteps(keeps)).map((answer) => (answer === "stale" ? "ok" : answer)),
      }),
  },
  {
    name: "a later attempt is given the result of another step",
    breaks: ["step"],
    needs: hasDurableWork,
    store: (inner) =>
      reading(inner, (steps) => {
        const value = steps.find(({ kind }) => kind === "step")?.value ?? null;
        return steps.map((step) => (step.kind === "step" ? { ...step, value } : step));
      }),
  },
  {
    name: "a sleep is over when its job runs again, whatever the clock says",
    breaks: ["I8"],
    needs: hasDurableWork,
    store: (inner) =>
      reading(inner, (steps) => steps.map((step) => (step.kind === "sleep" && step.state === "open" ? { ...step, state: "done" } : step))),
  },
  {
    name: "a wait that is overdue is not ended before it is read: who reads it only shows it so",
    breaks: ["signal"],
    needs: hasDurableWork,
    store: (inner) =>
      changed(inner, {
        readSteps: async (id, fence, after) => {
          if (fence === null) return inner.readSteps(id, fence, after);
          const [job] = await inner.find([id]);
          if (job === undefined || job === null || job.status !== "running" || job.fence !== fence) return null;
          const page = (await inner.readSteps(id, null, after))!;
          const steps = page.steps.map((step): StepRecord => {
            if (step.state !== "open" || step.until === null || step.until > page.now) return step;
            return { ...step, state: step.kind === "sleep" ? "done" : "timeout", endedAt: page.now };
          });
          return { ...page, steps };
        },
      }),
  },
  {
    name: "every signal of a name is taken",
    breaks: ["signal"],
    needs: hasDurableWork,
    store: (inner) =>
      changed(inner, {
        endSteps: async (ends) => {
          const answers = await inner.endSteps(ends);
          return answers.map((answer) => (answer.kind === "late" ? { kind: "ok", woke: false, type: "mail", queue: "default" } : answer));
        },
      }),
  },
  {
    name: "a signal wakes its job, and is not stored",
    breaks: ["signal"],
    needs: hasDurableWork,
    store: (inner) =>
      changed(inner, {
        endSteps: (ends) =>
          Promise.all(
            ends.map(async (end): Promise<StepEndAnswer> => {
              if (end.kind !== "wait") return (await inner.endSteps([end]))[0]!;
              const [answer] = await inner.change([end.id], OPEN);
              if (answer?.kind !== "ok") return (await inner.endSteps([end]))[0]!;
              const { type, queue } = answer.job;
              return { kind: "ok", woke: true, type, queue };
            }),
          ),
      }),
  },
  {
    name: "an attempt is suspended though its signal is there",
    breaks: ["I20"],
    needs: hasDurableWork,
    // The wait is stored under another name, so that it finds nothing that has ended.
    store: (inner) =>
      settling(inner, (settlement) => ({
        ...settlement,
        waits: settlement.waits?.map((wait): NewStep =>
          wait.kind === "wait" && wait.untilMs === null ? { ...wait, name: `${wait.name}?` } : wait,
        ),
      })),
  },
  {
    name: "the end of a called job leaves no notice",
    breaks: ["I20"],
    needs: hasDurableWork,
    store: (inner) => settling(inner, (settlement) => ({ ...settlement, notice: undefined })),
  },
  {
    name: "a notice is dropped before it is delivered",
    breaks: ["I20"],
    needs: (plan) => hasDurableWork(plan) && (plan.faults.has("fail") || plan.faults.has("crash") || plan.faults.has("outage")),
    store: (inner) =>
      changed(inner, {
        notices: async (limit, except) => {
          const found = await inner.notices(limit, except);
          await inner.dropNotices(found.map(({ key }) => key));
          return found;
        },
      }),
  },
  {
    name: "notices are never dropped",
    breaks: ["notice"],
    needs: hasDurableWork,
    store: (inner) => changed(inner, { dropNotices: async () => {} }),
  },
  {
    name: "a called job has the same id in every life of its caller",
    breaks: ["call"],
    needs: (plan) => hasDurableWork(plan) && plan.hasOperator,
    store: (inner) =>
      settling(inner, (settlement) => ({
        ...settlement,
        calls: settlement.calls?.map((call) => ({
          ...call,
          id: callId({ id: settlement.id, life: 1 }, call.parent!.step, partitionOf(call.queue)),
        })),
      })),
  },
  {
    name: "a called job has another id in every attempt of its caller",
    breaks: ["call"],
    needs: (plan) => hasDurableWork(plan) && plan.hasOperator,
    store: (inner) =>
      settling(inner, (settlement) => ({
        ...settlement,
        calls: settlement.calls?.map((call) => ({
          ...call,
          id: callId({ id: settlement.id, life: 1_000 + settlement.fence }, call.parent!.step, partitionOf(call.queue)),
        })),
      })),
  },
  {
    name: "a job goes on before the one that it called has ended",
    breaks: ["call"],
    needs: hasDurableWork,
    store: (inner) =>
      reading(inner, (steps) =>
        steps.map((step) =>
          step.kind === "call" && step.state === "open" ? { ...step, state: "done", value: null, by: "nobody 1" } : step,
        ),
      ),
  },
  {
    name: "a job is given another result than the one that it called had",
    breaks: ["call"],
    needs: hasDurableWork,
    store: (inner) =>
      changed(inner, {
        endSteps: (ends) => inner.endSteps(ends.map((end) => (end.kind === "call" && end.state === "done" ? { ...end, value: "0" } : end))),
      }),
  },
  {
    name: "a retry by hand does not forget what failed",
    breaks: ["call"],
    needs: (plan) => hasDurableWork(plan) && plan.hasOperator,
    store: (inner) =>
      changed(inner, {
        change: (ids, move, manual) => inner.change(ids, move.steps === "retry" ? { ...move, steps: undefined } : move, manual),
      }),
  },
  {
    name: "a job that is cancelled does not cancel those that it called",
    breaks: ["children"],
    needs: (plan) => hasDurableWork(plan) && plan.hasOperator,
    store: (inner) =>
      changed(inner, {
        notices: async (limit, except) =>
          (await inner.notices(limit, except)).map((each) =>
            each.notice.kind === "cancel" ? { ...each, notice: { ...each.notice, id: "nobody" } } : each,
          ),
      }),
  },
];
