/** THE TABLE OF docs/engines.md, made of stored figures. A row has all figures of one kind: with 10, 100 and 1,000 slots, p50 and p99. */
import { ENGINES } from "./engines/all.ts";
import { type Figure, type Result, roughly } from "./figure.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { machineText, type Stored } from "./stored.ts";

const BETWEEN = " · ";
const ON_PAGE = new Set(SCENARIOS.filter(({ isOnPage }) => isOnPage).map(({ name }) => name));

/** Markdown: the table, and where each engine was measured. Nothing, if nothing is stored. */
export function pageTable(runs: readonly Stored[]): string {
  if (runs.length === 0) return "";
  const rows = runs.flatMap(({ figures }) => [...rowsIn(figures).values()].map(rowOf));
  const header = ["", "Millrace", "bare", "others"];
  const lines = [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  const peers = [...new Set(runs.flatMap(({ peers }) => peers))];
  return [...lines, "", ...runs.map(aboutRun), ...(peers.length === 0 ? [] : [`- Other queues: ${peers.join(", ")}.`])].join("\n");
}

function rowsIn(figures: readonly Figure[]): Map<string, Figure[]> {
  const shown = figures.filter(({ scenario }) => ON_PAGE.has(scenario));
  return Map.groupBy(shown, ({ what }) => what);
}

function rowOf(figures: readonly Figure[]): string[] {
  const [first] = figures as [Figure, ...Figure[]];
  const title = ENGINES.find(({ name }) => name === first.engine)!.title;
  const variants = figures.flatMap(({ of }) => of ?? []).join(BETWEEN);
  const label = [`${title}: ${first.what}`, ...(variants === "" ? [] : [variants])].join("; ");
  const ours = figures.map((figure) => roughly(figure.ours.best)).join(BETWEEN);
  return [`${label} (${first.unit})`, ours, namesOf(figures, "bare", false), namesOf(figures, null, true)];
}

/** Everybody of a kind, with a figure for each of ours. Null: all that have no column of their own. */
function namesOf(figures: readonly Figure[], kind: Result["kind"] | null, withNames: boolean): string {
  const isShown = (other: Result): boolean => (kind === null ? other.kind === "peer" || other.kind === "otherwise" : other.kind === kind);
  const all = figures.map(({ others }) => new Map(others.filter(isShown).map((other) => [nameOf(other), other])));
  const names = [...new Set(all.flatMap((others) => [...others.keys()]))];
  return names
    .map((name) => {
      const values = all.map((others) => valueOf(others.get(name))).join(BETWEEN);
      return withNames ? `${name} ${values}` : values;
    })
    .join("; ");
}

/** Bare statements come in batches of different sizes, and are one. */
function nameOf({ kind, name }: Result): string {
  return kind === "bare" ? "bare" : name;
}

function valueOf(result: Result | undefined): string {
  return result === undefined || "failure" in result ? "–" : roughly(result.best);
}

function aboutRun({ about, machine, extent: { rounds, seconds } }: Stored): string {
  return `- ${about}: the best of ${rounds} round${rounds === 1 ? "" : "s"} of at least ${seconds} s, on ${machineText(machine)}.`;
}
