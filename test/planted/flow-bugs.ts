import { MillraceError } from "../../src/core/errors.ts";
import { type MemberState, readHead, readMember, REVIVE } from "../../src/core/flow.ts";
import { jobOf } from "../../src/core/member-job.ts";
import { isFlowParent } from "../../src/core/flow-parent.ts";
import type { NewJob } from "../../src/core/job.ts";
import type { Notice } from "../../src/core/steps.ts";
import { type ChangeAnswer, type FlowChange, MAX_BATCH, type Store } from "../../src/store/store.ts";
import type { WorldPlan } from "../simulation/plan.ts";
import { changed, type PlantedBug } from "./planted-bug.ts";

const hasFlows = ({ traits }: WorldPlan): boolean => traits.has("flows");
const isRough = ({ faults }: WorldPlan): boolean => ["crash", "fail", "outage", "cut-off"].some((fault) => faults.has(fault as "crash"));

/** A state as it is stored: what is as in a new one is left out. */
type StateText = { readonly [Name in keyof MemberState]?: MemberState[Name] | undefined };

/** The same store, in which flows change otherwise than the core decided. */
function progressing(inner: Store, otherwise: (change: FlowChange) => FlowChange): Store {
  return changed(inner, { changeFlows: (changes) => inner.changeFlows(changes.map(otherwise)) });
}

/** Other states than the core decided; those that differ are acted on. */
function deciding(inner: Store, otherwise: (state: StateText) => StateText): Store {
  return progressing(inner, (change) => {
    const names: string[] = [];
    const states = change.states.map(({ name, state }) => {
      const other = JSON.stringify(otherwise(JSON.parse(state) as StateText));
      if (other !== state) names.push(name);
      return { name, state: other };
    });
    const act: Notice[] = names.length === 0 ? [] : [{ kind: "flow", id: change.id, work: "act", names }];
    return { ...change, states, notices: [...change.notices, ...act] };
  });
}

/** The same store, which shows other states of members than there are. */
function showing(inner: Store, otherwise: (state: StateText) => StateText): Store {
  return changed(inner, {
    readFlows: async (reads) => {
      const pages = await inner.readFlows(reads);
      return pages.map((page, index) => {
        if (page === null || reads[index]!.names === undefined) return page;
        const members = page.members.map((text) => ({ ...text, state: JSON.stringify(otherwise(JSON.parse(text.state) as StateText)) }));
        return { ...page, members };
      });
    },
  });
}

function inserting(inner: Store, otherwise: (job: NewJob) => NewJob): Store {
  return changed(inner, { insert: (jobs) => inner.insert(jobs.map(otherwise)) });
}

function isOfFlows(notice: Notice): boolean {
  return notice.kind === "flow" || (notice.kind === "end" && isFlowParent(notice.end));
}

export const flowBugs: readonly PlantedBug[] = [
  {
    name: "what members and flows are told is dropped before it is delivered",
    breaks: ["flow"],
    needs: (plan) => hasFlows(plan) && isRough(plan),
    store: (inner) =>
      changed(inner, {
        notices: async (limit, except) => {
          const found = await inner.notices(limit, except);
          await inner.dropNotices(found.flatMap(({ key, notice }) => (isOfFlows(notice) ? key : [])));
          return found;
        },
      }),
  },
  {
    name: "an end that is told twice counts twice",
    breaks: ["flow", "members"],
    needs: (plan) => hasFlows(plan) && isRough(plan),
    // What was told of it before is forgotten.
    store: (inner) => showing(inner, (state) => (state.end === "completed" ? { ...state, at: -1, end: null } : state)),
  },
  {
    name: "a member opens although one that it waits for has not ended",
    breaks: ["members"],
    needs: hasFlows,
    store: (inner) =>
      deciding(inner, (state) => (state.phase === "blocked" && state.waits === 1 && !state.bad ? { ...state, phase: "opened" } : state)),
  },
  {
    name: "a member opens although one that it waits for ended badly",
    breaks: ["members"],
    needs: hasFlows,
    store: (inner) =>
      deciding(inner, (state) =>
        state.phase === "cut" && state.end === undefined ? { ...state, phase: "opened", cause: undefined } : state,
      ),
  },
  {
    name: "the end of a member is not heard if it comes before its flow knows that it was stored",
    breaks: ["flow"],
    needs: hasFlows,
    store: (inner) =>
      changed(inner, {
        changeFlows: async (changes) => {
          const isEarly = ({ states }: FlowChange): boolean =>
            states.some(({ state }) => {
              const { phase, end } = JSON.parse(state) as StateText;
              return phase === "new" && end !== undefined;
            });
          const answers = await inner.changeFlows(changes.filter((change) => !isEarly(change)));
          return changes.map((change) => (isEarly(change) ? "ok" : answers.shift()!));
        },
      }),
  },
  {
    name: "a flow is stored without the notice that starts it",
    breaks: ["flow"],
    needs: (plan) => hasFlows(plan) && isRough(plan),
    store: (inner) => inserting(inner, (job) => (job.flow === undefined ? job : { ...job, flow: { ...job.flow, notices: [] } })),
  },
  {
    name: "a flow is stored without its last member",
    breaks: ["flow"],
    needs: hasFlows,
    store: (inner) =>
      inserting(inner, (job) => (job.flow === undefined ? job : { ...job, flow: { ...job.flow, members: job.flow.members.slice(0, -1) } })),
  },
  {
    name: "members are stored before their flow is, and their producer dies in between",
    breaks: ["I2"],
    needs: hasFlows,
    store: (inner, { random }) =>
      changed(inner, {
        insert: async (jobs) => {
          const flow = jobs.find((job) => job.flow !== undefined);
          if (flow === undefined || random.chance(0.5)) return inner.insert(jobs);
          await inner.insert(flow.flow!.members.map((text) => jobOf(flow.id, readMember(text))));
          throw new MillraceError("store_unavailable", "the producer is gone");
        },
      }),
  },
  {
    name: "a change that others were faster than is stored all the same",
    breaks: ["flow"],
    needs: hasFlows,
    store: (inner) =>
      changed(inner, {
        changeFlows: async (changes) => {
          const answers = await inner.changeFlows(changes);
          const late = changes.filter((_, index) => answers[index] === "stale");
          if (late.length === 0) return answers;
          const pages = await inner.readFlows(late.map(({ id }) => ({ id, names: [] })));
          await inner.changeFlows(
            late.flatMap((change, index) => (pages[index] === null ? [] : { ...change, version: pages[index]!.version })),
          );
          return answers.map((answer) => (answer === "stale" ? "ok" : answer));
        },
      }),
  },
  {
    name: "what a death had cancelled stays cancelled when the dead is retried",
    breaks: ["flow"],
    needs: (plan) => hasFlows(plan) && plan.hasOperator,
    store: (inner) =>
      changed(inner, {
        change: async (ids, move, manual) =>
          move.from === REVIVE.from
            ? ids.map((): ChangeAnswer => ({ kind: "refused", status: "cancelled" }))
            : inner.change(ids, move, manual),
      }),
  },
  {
    name: "the job of a flow does not learn that the flow has ended",
    breaks: ["flow"],
    needs: hasFlows,
    store: (inner) =>
      progressing(inner, (change) => ({
        ...change,
        notices: change.notices.filter((notice) => notice.kind !== "flow" || notice.work !== "end"),
      })),
  },
  {
    name: "a flow does not count who waits for somebody",
    breaks: ["flow"],
    needs: hasFlows,
    store: (inner) =>
      progressing(inner, (change) => ({ ...change, head: JSON.stringify({ ...readHead(change.head), stuck: { count: 0, names: [] } }) })),
  },
  {
    name: "a completed member runs again when its flow is retried",
    breaks: ["members"],
    needs: (plan) => hasFlows(plan) && plan.hasOperator,
    store: (inner) =>
      changed(inner, {
        change: (ids, move, manual) =>
          inner.change(ids, move.ending?.state === "open" ? { ...move, from: [...move.from, "completed"] } : move, manual),
        readFlows: async (reads) => {
          const pages = await inner.readFlows(reads);
          return pages.map((page, index) => {
            if (page === null || reads[index]!.limit !== MAX_BATCH) return page;
            const members = page.members.map((text) => ({ ...text, state: text.state.replace('"end":"completed"', '"end":"dead"') }));
            return { ...page, members };
          });
        },
      }),
  },
];
