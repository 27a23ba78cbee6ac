/** SCHEDULES: recurring schedules, and delayed jobs. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, type ReactElement, Suspense, useState } from "react";
import { compact } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { PageHead } from "../parts/card.tsx";
import { useSchedules, useStats } from "../queries.ts";
import { useIsOperator } from "../session.ts";
import { Delayed } from "./schedules/delayed.tsx";
import { Recurring } from "./schedules/recurring.tsx";

const ScheduleForm = lazy(() => import("./schedules/schedule-form.tsx"));
const route = getRouteApi("/schedules");

export function Schedules(): ReactElement {
  const { tab, cursor } = route.useSearch();
  const isOperator = useIsOperator();
  const [isNew, setNew] = useState(false);
  const { data: schedules } = useSchedules();
  const { data: stats } = useStats();
  return (
    <>
      <PageHead
        title="Schedules"
        actions={
          isOperator && (
            <Button look="primary" icon={Plus} onClick={() => setNew(true)}>
              New schedule
            </Button>
          )
        }
      >
        Schedules that create jobs again and again, and single jobs that wait until they are due.
      </PageHead>
      <nav aria-label="Kinds" className="mb-3 flex gap-1">
        <Tab isOn={tab === undefined} search={{}} name="Recurring" figure={schedules?.length} />
        <Tab isOn={tab === "delayed"} search={{ tab: "delayed" }} name="Delayed jobs" figure={stats?.counts.scheduled} />
      </nav>
      {tab === "delayed" ? <Delayed cursor={cursor} /> : <Recurring onNew={() => setNew(true)} />}
      {isNew && (
        <Suspense>
          <ScheduleForm schedule={null} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </>
  );
}

interface TabProps {
  readonly isOn: boolean;
  readonly search: { readonly tab?: "delayed" };
  readonly name: string;
  readonly figure: number | undefined;
}

function Tab({ isOn, search, name, figure }: TabProps): ReactElement {
  return (
    <Link
      to="/schedules"
      search={search}
      activeProps={{}}
      aria-current={isOn ? "true" : undefined}
      className={`inline-flex h-8 items-center gap-1.5 rounded-md border px-2.5 transition-colors ${isOn ? "border-input bg-accent font-medium" : "border-transparent text-muted-foreground hover:bg-accent hover:text-foreground"}`}
    >
      {name}
      {figure !== undefined && <span className="text-xs text-muted-foreground">{compact(figure)}</span>}
    </Link>
  );
}
