/** THE LIMITS OF A QUEUE: what they are, how much of them is used now, which keys are busy or held, and which have limits of their own. */
import { SlidersHorizontal } from "lucide-react";
import { type ReactElement, useState } from "react";
import { isInternalQueue } from "../../../core/internal.ts";
import type { Queue, QueueLimitUse } from "../../api.ts";
import type { QueueLimitState } from "../../limit-words.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { usePreference } from "../../preferences.ts";
import { useKeyLimits, useLimitUse } from "../../queries.ts";
import { useIsOperator } from "../../session.ts";
import { BusiestKeys } from "./limits/busiest-keys.tsx";
import { ChooseKeyDialog } from "./limits/choose-key-dialog.tsx";
import { type EditedKey, EditKey } from "./limits/edit-key.ts";
import { KeyLimitsDialog } from "./limits/key-limits-dialog.tsx";
import { LimitFacts } from "./limits/limit-facts.tsx";
import { OwnLimits } from "./limits/own-limits.tsx";
import { QueueLimitsDialog } from "./limits/queue-limits-dialog.tsx";

type Open = { readonly kind: "queue" | "choose" } | { readonly kind: "key"; readonly edited: EditedKey };

/** Where links from elsewhere lead. */
export const LIMITS_ID = "limits";

export function Limits({ queue }: { readonly queue: Queue }): ReactElement {
  const use = useLimitUse(queue.name);
  const [size] = usePreference("pageSize");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const own = useKeyLimits(queue.name, size, cursors.at(-1));
  const mayEdit = useIsOperator() && !isInternalQueue(queue.name);
  // Here, not in the row of a key: the row may go while the dialog is open.
  const [open, setOpen] = useState<Open | null>(null);
  const close = (): void => setOpen(null);
  const isOwnKnown = own.data !== undefined;
  const hasOwn = cursors.length > 0 || (own.data?.keys.length ?? 0) > 0;
  return (
    <div id={LIMITS_ID} className="scroll-mt-17">
      <EditKey.Provider value={mayEdit ? (edited) => setOpen({ kind: "key", edited }) : null}>
        <Card
          title="Limits"
          flush
          aside={
            mayEdit && (
              <span className="flex gap-1">
                <Button look="quiet" onClick={() => setOpen({ kind: "choose" })}>
                  Limit a key
                </Button>
                <Button icon={SlidersHorizontal} onClick={() => setOpen({ kind: "queue" })}>
                  <span>
                    Edit<span className="max-sm:sr-only"> limits</span>
                  </span>
                </Button>
              </span>
            )
          }
        >
          <Loaded result={{ ...use, data: own.isPending ? undefined : use.data }} lines={2}>
            {(used) =>
              used === null || (isUnused(used) && isOwnKnown && !hasOwn) ? (
                <p className="px-4 py-3 text-muted-foreground">No limits: a job starts as soon as a worker is free.</p>
              ) : (
                <div className="divide-y">
                  <LimitFacts use={used} state={stateOf(queue, used)} />
                  {used.keys.length > 0 && <BusiestKeys use={used} state={stateOf(queue, used)} />}
                  <Loaded result={own} lines={2}>
                    {(page) => hasOwn && <OwnLimits queue={queue.name} page={page} cursors={cursors} onTurn={setCursors} />}
                  </Loaded>
                </div>
              )
            }
          </Loaded>
        </Card>
      </EditKey.Provider>
      {open?.kind === "queue" && <QueueLimitsDialog queue={queue.name} limits={queue.limits} running={use.data?.running} onClose={close} />}
      {open?.kind === "choose" && (
        <ChooseKeyDialog queue={queue.name} use={use.data} onChoose={(edited) => setOpen({ kind: "key", edited })} onClose={close} />
      )}
      {open?.kind === "key" && (
        <KeyLimitsDialog queue={queue.name} edited={open.edited} everyKey={queue.limits?.perKey ?? {}} onClose={close} />
      )}
    </div>
  );
}

function stateOf({ paused }: Queue, { limits, running, nextStartAt }: QueueLimitUse): QueueLimitState {
  return { isPaused: paused, running, limit: limits?.running, nextStartAt };
}

/** Without limits, and without a key that has jobs. */
function isUnused({ limits, keys }: QueueLimitUse): boolean {
  return limits === null && keys.length === 0;
}
