/** WHERE THE BOXES OF A GRAPH ARE, from left to right. */
import { Graph, layout } from "@dagrejs/dagre";
import type { FlowShape } from "./flow-shape.ts";

export const BOX_WIDTH = 184;
export const BOX_HEIGHT = 66;
const BETWEEN_ROWS = 14;
const BETWEEN_COLUMNS = 48;
/** Around all of it: room for the ring of what has the focus. */
const MARGIN = 16;

interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  /** The line, and the tip of its arrow, as paths. */
  readonly line: string;
  readonly tip: string;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The upper left corner of each box. */
  readonly boxes: ReadonlyMap<string, Point>;
  readonly edges: readonly PlacedEdge[];
}

/** Up to so many edges, the ranker that places best is quick enough. The other one takes a third of its time. */
const MAX_BEST = 200;

export function layoutOf({ edges, columns }: FlowShape): Layout {
  const graph = new Graph();
  const ranker = edges.length <= MAX_BEST ? "network-simplex" : "tight-tree";
  graph.setGraph({ rankdir: "LR", ranker, nodesep: BETWEEN_ROWS, ranksep: BETWEEN_COLUMNS, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  // Of those that may stand anywhere in a column, the library puts the last one at the top.
  for (const name of [...columns.keys()].toReversed()) graph.setNode(name, { width: BOX_WIDTH, height: BOX_HEIGHT });
  for (const { from, to } of edges.toReversed()) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const centre = (name: string): Point => graph.node(name) as Point;
  const boxes = new Map(
    [...columns.keys()].map((name) => [name, { x: centre(name).x - BOX_WIDTH / 2, y: centre(name).y - BOX_HEIGHT / 2 }]),
  );
  const placed = edges.map(({ from, to }): PlacedEdge => {
    const { points = [] } = graph.edge(from, to) as { readonly points?: readonly Point[] };
    const start = { x: centre(from).x + BOX_WIDTH / 2, y: centre(from).y };
    const end = { x: centre(to).x - BOX_WIDTH / 2, y: centre(to).y };
    return { from, to, line: lineThrough([start, ...passed(points), { x: end.x - TIP, y: end.y }]), tip: tipAt(end) };
  });
  return { width, height, boxes, edges: placed };
}

/**
 * Where an edge passes the columns between its ends: level, so that it touches no box there. Between its ends the library gives points in turns, one
 * between two columns, where the edge may bend as it likes, and one in a column.
 */
function passed(points: readonly Point[]): Point[] {
  const inColumns = points.slice(1, -1).filter((_, index) => index % 2 === 1);
  return inColumns.flatMap(({ x, y }) => [
    { x: x - BOX_WIDTH / 2, y },
    { x: x + BOX_WIDTH / 2, y },
  ]);
}

const TIP = 6;

/** Leaves each point, and reaches the next one, level. */
function lineThrough([first, ...others]: readonly Point[]): string {
  let before = first!;
  const parts = others.map((point) => {
    const middle = (before.x + point.x) / 2;
    const part = `C${middle} ${before.y},${middle} ${point.y},${point.x} ${point.y}`;
    before = point;
    return part;
  });
  return `M${first!.x} ${first!.y}${parts.join("")}`;
}

function tipAt({ x, y }: Point): string {
  return `M${x - TIP} ${y - TIP / 2}L${x} ${y}L${x - TIP} ${y + TIP / 2}Z`;
}
