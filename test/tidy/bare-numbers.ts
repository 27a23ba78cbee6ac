// A number that engines store has one home: src/store/numbers.ts, or src/store/redis/layout.ts for what is packed. Statements get it from there.

import type { Files } from "./files.ts";
import { lineOf, parse } from "./syntax.ts";

// Steps of a schema that were released are never edited, so they say numbers as they were.
const released = new Set(["src/store/sqlite/migrations.ts"]);

const compared = String.raw`(?:=|==|===|~=|!=|!==|<>|<=|>=|<|>|between|in|when)\s*\(?\s*-?\d`;

const bare: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a bare number of a state", new RegExp(String.raw`\b(?:state|to_state|p_to|was)\b\)?\s*${compared}`, "g")],
  ["a bare number of what is counted", new RegExp(String.raw`\b(?:metric|step|cell)\b\)?\s*${compared}`, "g")],
  ["a bare bound of a priority", new RegExp(String.raw`\bpriority\b\)?\s*${compared}`, "g")],
  ["a bare bound of a bucket", /\b(?:107|108)\b/g],
  ["a bare head start", /\b8796093022208\b/g],
  ["a format by hand", /'>[BbIdx]/g],
  ["a cut by hand", /\bsub\((?:record|body|member|entry|found|own)\b[^,]*, (?:[2-9]|\d\d|1, \d)/g],
];

export function bareNumbers(files: Files): string[] {
  return [...files]
    .filter(([file]) => /^src\/store\/.*\.ts$/.test(file) && !released.has(file))
    .flatMap(([file, text]) => {
      const code = withoutComments(file, text);
      return bare.flatMap(([what, pattern]) =>
        [...code.matchAll(pattern)].map((match) => `${file}:${lineOf(text, match.index)}: ${what}: ${match[0]}`),
      );
    });
}

/** The same text with blanks for comments, so that places stay. */
function withoutComments(file: string, text: string): string {
  let code = text;
  for (const { start, end } of parse(file, text).comments) {
    code = code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
  }
  return code;
}
