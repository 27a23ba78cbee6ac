// One word for one thing, and plain ones. docs/glossary.md has our words; this holds code and docs to it.

import path from "node:path";
import { sourceFiles, type Files } from "./files.ts";
import { child, lineOf, parse, walk, type Node } from "./syntax.ts";

const GLOSSARY = "docs/glossary.md";

/** Images that have to be explained: never, be it in a name, a comment or a text. */
const neverSay: readonly (readonly [words: string, instead: string])[] = [
  ["desk desks lobby turnstile turnstiles quest quests", "what it does: waits, admits, asks"],
  ["crew crews", "workers"],
  ["shelf shelves", "what it keeps"],
  ["parcel parcels", "batch, message or payload"],
  ["wish wishes wished", "request, option, or asked for"],
  ["knock knocks knocked knocking", "try to connect"],
  ["breathe breathes", "let others run"],
  ["hush hushes hushed", "ignore, stop or disconnect"],
];
const said = neverSay.map(([words, instead]) => [anywhere(words.split(" ")), instead] as const);

/** Ordinary words that say too little as the name of a type or a file. */
const neverName: readonly (readonly [word: RegExp, instead: string])[] = [
  [/^floors?$/, "what it is the least of"],
  [/^doubts?$/, "what is not known"],
  [/^rooms?$/, "limits"],
  [/^visits?$/, "request, session or call"],
  [/^word$/, "what the text is: a flag, an option, a suggestion"],
  [/^(?:story|stories)$/, "log or history"],
  [/^last words$/, "what is written at the end"],
];

/** Each word in code and docs that has a plainer one, as "file:line: what". */
export function obscureWords(files: Files): string[] {
  return [...files].filter(([file]) => isRead(file)).flatMap(([file, text]) => [...saidIn(file, text), ...namesOfTypes(file, text)]);
}

/** The name of a file is read as its first line is. */
function saidIn(file: string, text: string): string[] {
  const words = wordsOf(path.posix.basename(file).replace(/\..*$/, ""));
  const inText = said.flatMap(([word, instead]) =>
    [...`${words.join(" ")} ${text}`.matchAll(word)].map(({ 0: found, index }) => {
      const line = lineOf(text, Math.max(0, index - words.join(" ").length));
      return `${file}:${line}: ${found.toLowerCase()}; say ${instead}`;
    }),
  );
  return [...inText, ...complainOfName(words, file)];
}

/** The words as they stand alone, in `theirCrew`, `CrewSize` and `CREW_SIZE`; not those inside of others. */
function anywhere(words: readonly string[]): RegExp {
  const oneOf = (spelt: (word: string) => string): string => `(?:${words.map(spelt).join("|")})`;
  const small = oneOf((word) => word);
  const capital = oneOf((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const large = oneOf((word) => word.toUpperCase());
  return new RegExp(`(?<![A-Za-z])${small}(?![a-z])|(?<![A-Z])${capital}(?![a-z])|(?<![A-Z])${large}(?![A-Z])`, "g");
}

function isRead(file: string): boolean {
  return /^(?:src\/.*\.(?:tsx?|html)|docs\/.*\.md|README\.md|llms\.txt)$/.test(file) && file !== GLOSSARY;
}

function namesOfTypes(file: string, text: string): string[] {
  if (!/\.tsx?$/.test(file)) return [];
  return [...text.matchAll(/\b(?:class|interface|type) ([A-Z]\w*)/g)].flatMap(({ 1: name = "", index }) =>
    complainOfName(wordsOf(name), `${file}:${lineOf(text, index)}: ${name}`),
  );
}

/** Only the last word says what a thing is: a `RoomSize` is a size. */
function complainOfName(words: readonly string[], where: string): string[] {
  return [...new Set([words.at(-1) ?? "", words.slice(-2).join(" ")])].flatMap((word) =>
    neverName.filter(([forbidden]) => forbidden.test(word)).map(([, instead]) => `${where}; say ${instead}`),
  );
}

/** `WaitingRoom`, `waiting-room` and `WAITING_ROOM` are "waiting", "room". */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
}

const lengthOfTime = /(?:timeout|delay|ttl|lease|grace|interval|duration|headStart|keepAtLeast|every)$/i;

/** To parse all files for the few that have such a line would take seconds. */
const mayBeUnitless = new RegExp(`${lengthOfTime.source.replace("$", "")}\\??: [^;]*\\bnumber\\b`, "i");

/** Names that users know from the docs, where they also take "30s". Read back, they are milliseconds, and their comments say so. */
const knownLengths: Readonly<Record<string, readonly string[]>> = {
  "src/core/job.ts": ["retryDelay", "timeout"],
  "src/client/contract/queues.ts": ["headStart", "keepAtLeast"],
  "src/client/contract/schedules.ts": ["retryDelay", "timeout", "every"],
};

/** Numbers that are lengths of time and do not say in which unit. */
export function unitlessTimes(files: Files): string[] {
  return sourceFiles(files).flatMap((file) => {
    const text = files.get(file) ?? "";
    const found: string[] = [];
    if (!mayBeUnitless.test(text)) return found;
    walk(parse(file, text), (node) => {
      if (node.type !== "TSPropertySignature") return;
      const name = (child(node, "key")?.["name"] as string | undefined) ?? "";
      if (!lengthOfTime.test(name) || !isNumber(child(node, "typeAnnotation")) || knownLengths[file]?.includes(name)) return;
      found.push(`${file}:${lineOf(text, node.start)}: ${name} has no unit; call it ${name}Ms`);
    });
    return found;
  });
}

function isNumber(type: Node | undefined): boolean {
  if (type === undefined) return false;
  const parts = [type["typeAnnotation"], type["types"]].flat().filter((part) => part !== undefined) as Node[];
  return type.type === "TSNumberKeyword" || parts.some(isNumber);
}

/** Where code lists its names, and the heading under which the glossary explains each. */
const explained: readonly { readonly file: string; readonly list: RegExp; readonly name: RegExp; readonly heading: string }[] = [
  { file: "src/core/job.ts", list: /STATUSES = \[[^\]]*\]/, name: /"(\w+)"/g, heading: "Status of a job" },
  { file: "src/core/lifecycle.ts", list: /OUTCOME_KINDS = \[[^\]]*\]/, name: /"(\w+)"/g, heading: "Attempts and retries" },
  { file: "src/core/counters.ts", list: /COUNTERS = \[[^\]]*\]/, name: /"(\w+)"/g, heading: "Counters" },
  {
    file: "src/core/event.ts",
    list: /type Event =[^;]*(?:;(?!\n\n)[^;]*)*/,
    name: /"((?:job|flow|queue|schedule):\w+|counts|gap)"/g,
    heading: "Events",
  },
  { file: "src/config.ts", list: /SETTINGS = \{[\s\S]*/, name: /\benv: "(?!API_ADDR|NUM_WORKERS|JOB_TIMEOUT)(\w+)"/g, heading: "Settings" },
];

/** Names of statuses, outcomes, counters, events and settings that the glossary does not explain, and those that it made up. */
export function unexplainedWords(files: Files): string[] {
  return explained.flatMap(({ file, list, name, heading }) => {
    const named = namesIn(list.exec(files.get(file) ?? "")?.[0] ?? "", name);
    if (named.size === 0) return [`${file}: no names were found for "${heading}" of ${GLOSSARY}`];
    const told = namesIn(sectionOf(files.get(GLOSSARY) ?? "", heading), heading === "Settings" ? /`(\w+)`/g : /^\| `([\w:]+)`/gm);
    return [
      ...[...named.difference(told)].map((missing) => `${GLOSSARY}: "${heading}" does not explain ${missing} of ${file}`),
      ...[...told.difference(named)].map((extra) => `${GLOSSARY}: "${heading}" explains ${extra}, which ${file} does not have`),
    ];
  });
}

function namesIn(text: string, name: RegExp): Set<string> {
  return new Set([...text.matchAll(name)].map((match) => match[1] ?? ""));
}

function sectionOf(text: string, heading: string): string {
  return text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? "";
}
