/** THE GRAPH OF A FLOW, from left to right: a box for each member, which leads to its job. */
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, type ReactElement, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Flow, FlowMember } from "../../api.ts";
import type { FlowShape } from "../../flows/flow-shape.ts";
import { layoutOf, type Layout } from "../../flows/graph-layout.ts";
import { IconButton } from "../../parts/button.tsx";
import { Box } from "./graph-box.tsx";
import { BoxDetails } from "./graph-details.tsx";
import { Edges } from "./graph-edges.tsx";

interface FlowGraphProps {
  readonly flow: Pick<Flow, "id" | "createdAt">;
  readonly members: readonly FlowMember[];
  readonly shape: FlowShape;
  /** The members that determined when the flow ended. */
  readonly path: ReadonlySet<string>;
}

const MIN_ZOOM = 0.2;
const MAX_ZOOM = 1.5;
/** Smaller texts are not read: rather than that, a large graph is scrolled. */
const FIRST_ZOOM = 0.75;
const ZOOM_STEP = 1.25;

export default function FlowGraph({ flow, members, shape, path }: FlowGraphProps): ReactElement {
  // The places change only when members come; what the boxes say changes all the time.
  const key = JSON.stringify([[...shape.columns.keys()], shape.edges]);
  // oxlint-disable-next-line react/exhaustive-deps
  const layout = useMemo(() => layoutOf(shape), [key]);
  const ordered = useMemo(() => inPlaceOrder(members, layout), [members, layout]);
  const first = ordered[0]?.name ?? null;
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const [focused, setFocused] = useState<string | null>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const fitting = (least: number): number => Math.min(1, Math.max(least, (frame.current?.clientWidth ?? 0) / layout.width));
  useLayoutEffect(() => {
    setZoom(fitting(FIRST_ZOOM));
    setNew(true);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [layout]);

  // A tall graph begins somewhere in its height. It is scrolled there once it has its size.
  const [isNew, setNew] = useState(true);
  useLayoutEffect(() => {
    if (!isNew || frame.current === null) return;
    setNew(false);
    frame.current.scrollTop = (layout.boxes.get(first ?? "")?.y ?? 0) * zoom - frame.current.clientHeight / 2;
  }, [isNew, layout, first, zoom]);

  const active = members.find(({ name }) => name === (pointed ?? focused)) ?? null;
  const inTabOrder = members.some(({ name }) => name === focused) ? focused : first;
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const here = members.find(({ name }) => name === focused);
    if (here === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = target(event.key, here, { ordered, shape, layout });
    if (to === undefined) return;
    event.preventDefault();
    frame.current?.querySelector<HTMLElement>(`[data-box="${CSS.escape(to)}"]`)?.focus();
  };
  const zoomBy = (factor: number): void => setZoom(Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, zoom * factor)));
  return (
    <>
      <div
        ref={frame}
        data-graph=""
        role="group"
        aria-label="Graph of the members. The arrow keys move along its edges."
        onPointerLeave={() => setPointed(null)}
        className="max-h-[34rem] overflow-auto overscroll-x-contain bg-background"
      >
        <div className="relative mx-auto" style={{ width: layout.width * zoom, height: layout.height * zoom }}>
          <div
            className="absolute top-0 left-0 origin-top-left"
            style={{ width: layout.width, height: layout.height, transform: `scale(${zoom})` }}
          >
            <Edges layout={layout} members={members} path={path} active={active?.name ?? null} />
            <ul aria-label="Members">
              {ordered.map((member) => (
                <Box
                  key={member.name}
                  member={member}
                  at={layout.boxes.get(member.name)!}
                  isOnPath={path.has(member.name)}
                  isInTabOrder={member.name === inTabOrder}
                  isActive={member === active}
                  onFocus={setFocused}
                  onPoint={setPointed}
                  onKeyDown={onKeyDown}
                />
              ))}
            </ul>
          </div>
        </div>
      </div>
      <div className="flex items-start gap-2 border-t py-2.5 pr-2 pl-4">
        <BoxDetails flow={flow} member={active} members={members} isOnPath={active !== null && path.has(active.name)} />
        <div className="flex shrink-0 rounded-md border bg-card">
          <IconButton icon={ZoomOut} label="Make the graph smaller" disabled={zoom <= MIN_ZOOM} onClick={() => zoomBy(1 / ZOOM_STEP)} />
          <IconButton icon={ZoomIn} label="Make the graph larger" disabled={zoom >= MAX_ZOOM} onClick={() => zoomBy(ZOOM_STEP)} />
          <IconButton icon={Maximize} label="Show the whole width" onClick={() => setZoom(fitting(MIN_ZOOM))} />
        </div>
      </div>
    </>
  );
}

/** Column by column, each from top to bottom: so they are read, and so the arrow keys go. */
function inPlaceOrder(members: readonly FlowMember[], { boxes }: Layout): FlowMember[] {
  const at = ({ name }: FlowMember): { readonly x: number; readonly y: number } => boxes.get(name)!;
  return members.filter(({ name }) => boxes.has(name)).toSorted((one, other) => at(one).x - at(other).x || at(one).y - at(other).y);
}

interface Places {
  readonly ordered: readonly FlowMember[];
  readonly shape: FlowShape;
  readonly layout: Layout;
}

/** The member that a key leads to from here, if it leads to one. */
function target(key: string, here: FlowMember, { ordered, shape, layout }: Places): string | undefined {
  const heightOf = (name: string): number => layout.boxes.get(name)?.y ?? 0;
  const nearest = (names: readonly string[]): string | undefined =>
    names.toSorted((one, other) => Math.abs(heightOf(one) - heightOf(here.name)) - Math.abs(heightOf(other) - heightOf(here.name)))[0];
  const column = ordered.filter(({ name }) => layout.boxes.get(name)?.x === layout.boxes.get(here.name)?.x);
  const at = column.findIndex(({ name }) => name === here.name);
  switch (key) {
    case "ArrowRight":
      return nearest(shape.edges.filter(({ from }) => from === here.name).map(({ to }) => to));
    case "ArrowLeft":
      return nearest(shape.edges.filter(({ to }) => to === here.name).map(({ from }) => from));
    case "ArrowUp":
      return column[at - 1]?.name;
    case "ArrowDown":
      return column[at + 1]?.name;
    case "Home":
      return ordered[0]?.name;
    case "End":
      return ordered.at(-1)?.name;
    default:
      return undefined;
  }
}
