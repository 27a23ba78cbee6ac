/** DEAD LETTERS BY ERROR: a thousand of them often have one cause. */
import { Link } from "@tanstack/react-router";
import { Bell, BellOff, RotateCw, Trash2 } from "lucide-react";
import { type ReactElement, useState } from "react";
import type { ErrorGroup, JobFilter } from "../../api.ts";
import { changeAll, FIRST, FIRST_LABEL } from "../../bulk.ts";
import { counted } from "../../../core/counted.ts";
import { count, localTime } from "../../format.ts";
import { useHeld } from "../../held.ts";
import { muteGroup, unmuteGroup } from "../../mute.ts";
import type { JobSearch } from "../../job-search.ts";
import { JobLink } from "../../parts/bits.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { Ago } from "../../parts/time.tsx";
import { useErrorGroups } from "../../queries.ts";
import { visible } from "../../safe-text.ts";
import { useIsOperator } from "../../session.ts";

const SHOWN = 5;

interface ErrorGroupsProps {
  readonly filter: JobFilter;
  readonly search: JobSearch;
}

/** The groups of what the page lists: they obey every filter, a chosen group included. */
export function ErrorGroups({ filter, search }: ErrorGroupsProps): ReactElement | null {
  const result = useErrorGroups(filter);
  const { shown, hold } = useHeld(result.data);
  const [isWhole, setWhole] = useState(false);
  if (shown?.groups.length === 0) return null;
  return (
    <div {...hold} className="mb-4">
      <Card
        title="By error"
        aside={shown !== undefined && <Summary groups={shown.groups.length} isAll={!shown.isCapped && !shown.hasMore} />}
        flush
      >
        <Loaded result={{ ...result, data: shown }} lines={4}>
          {({ groups, isCapped, hasMore }) => (
            <>
              <ul aria-label="Errors" className="divide-y">
                {groups
                  .filter(({ group }, index) => isWhole || index < SHOWN || group === search.group)
                  .map((group) => (
                    <Group key={group.group} group={group} isCapped={isCapped} filter={filter} search={search} />
                  ))}
              </ul>
              {groups.length > SHOWN && (
                <div className="border-t px-2 py-1">
                  <Button look="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
                    {isWhole ? "Show fewer" : `Show ${hasMore ? "the largest" : "all"} ${count(groups.length)} errors`}
                  </Button>
                </div>
              )}
            </>
          )}
        </Loaded>
      </Card>
    </div>
  );
}

function Summary({ groups, isAll }: { readonly groups: number; readonly isAll: boolean }): ReactElement {
  return (
    <span className="text-xs text-muted-foreground">
      {!isAll && "at least "}
      {counted(groups, "error group")}
    </span>
  );
}

/** The numbers of a trend: only hours in which jobs died, because most are empty. */
function trendWords(trend: readonly number[]): string {
  const hours = trend.flatMap((died, index) => {
    const ago = trend.length - index;
    return died === 0 ? [] : [`${count(died)} ${ago === 1 ? "in the last hour" : `${ago - 1} to ${ago} h ago`}`];
  });
  const total = trend.reduce((sum, died) => sum + died, 0);
  return `${counted(total, "job")} died in the last ${trend.length} hours${hours.length === 0 ? "" : `: ${hours.join(", ")}`}`;
}

function Muted({ mute: { until, by, reason } }: { readonly mute: NonNullable<ErrorGroup["muted"]> }): ReactElement {
  return (
    <span className="inline-flex items-center gap-1 font-medium text-foreground">
      <BellOff aria-hidden className="size-3 shrink-0" />
      <span>
        muted{until !== null && <> until {localTime(until)}</>}
        {by !== null && ` by ${visible(by)}`}
        {reason !== null && `: ${visible(reason)}`}
      </span>
    </span>
  );
}

interface GroupProps extends ErrorGroupsProps {
  readonly group: ErrorGroup;
  /** The count is of the latest dead letters only: there may be more. */
  readonly isCapped: boolean;
}

function Group({ group, isCapped, filter, search }: GroupProps): ReactElement {
  const isOperator = useIsOperator();
  const isChosen = search.group === group.group;
  const { cursor: _, group: __, ...others } = search;
  const mine: JobFilter = { ...filter, status: "dead", group: group.group };
  return (
    <li
      data-group={group.group}
      className={`grid grid-cols-[3rem_minmax(0,1fr)] items-start gap-x-2 gap-y-2 px-4 py-3 sm:grid-cols-[3.5rem_minmax(0,1fr)_auto] ${isChosen ? "bg-primary/8" : ""}`}
    >
      <span className="text-lg leading-6 font-semibold tracking-tight text-dead">
        {isCapped && <span className="block text-2xs font-normal tracking-normal text-muted-foreground">at least </span>}
        {count(group.count)}
      </span>
      <span className="min-w-0">
        <Link
          to="/dead"
          search={isChosen ? others : { ...others, group: group.group }}
          aria-current={isChosen ? "true" : undefined}
          activeProps={{}}
          title={isChosen ? "Show all dead letters again" : "Show only these below"}
          className="block rounded underline-offset-2 hover:underline"
        >
          <span className="font-medium">{visible(group.name)}</span>
          <span className="line-clamp-2 break-words text-muted-foreground">{visible(group.message.slice(0, 300))}</span>
        </Link>
        <span className="mt-1 flex flex-wrap items-center gap-x-3 text-xs text-muted-foreground">
          <span className="min-w-0 break-words">{group.types.join(", ")}</span>
          <Sparkline values={group.trend} label={trendWords(group.trend)} />
          <span>
            first <Ago at={group.firstSeenAt} />
            {group.firstVersion !== null && ` with version ${visible(group.firstVersion)}`}
          </span>
          <span>
            last <Ago at={group.lastSeenAt} />
          </span>
          {group.muted !== null && <Muted mute={group.muted} />}
          <span>
            e.g. <JobLink id={group.sampleJobId} />
          </span>
        </span>
      </span>
      {isOperator && (
        <span className="flex flex-wrap gap-1 max-sm:col-span-2">
          {group.count > FIRST && (
            <Button onClick={() => void changeAll("retry", mine, FIRST)} title="Retry the newest, to see whether the cause is gone">
              {FIRST_LABEL}
            </Button>
          )}
          <Button icon={RotateCw} onClick={() => void changeAll("retry", mine)}>
            {isCapped ? "Retry all" : `Retry ${count(group.count)}`}
          </Button>
          <IconButton
            icon={group.muted === null ? BellOff : Bell}
            label={group.muted === null ? "Mute this error" : "Unmute this error"}
            className="size-8"
            onClick={() => void (group.muted === null ? muteGroup(group) : unmuteGroup(group))}
          />
          <IconButton
            icon={Trash2}
            label={`Delete ${isCapped ? "all dead letters" : counted(group.count, "dead letter")} with this error`}
            className="size-8"
            onClick={() => void changeAll("delete", mine)}
          />
        </span>
      )}
    </li>
  );
}
