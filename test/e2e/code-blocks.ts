/** A fenced block of a page. */
export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  /** The heading that it stands below. */
  readonly heading: string;
  /** The file that it is said to be, by its first line: `// app.ts`. */
  readonly file: string | undefined;
}

/**
 * The blocks of a page in one of these languages, in order. The language must stand alone on its line: a block of another library says so
 * behind it (` ```ts bullmq `), and is not one of them.
 */
export function codeBlocks(page: string, ...languages: readonly string[]): CodeBlock[] {
  return [...page.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)].flatMap((match) => {
    const [, language = "", code = ""] = match;
    if (!languages.includes(language)) return [];
    const heading = page.slice(0, match.index).match(/^#+ .*$/gm)?.at(-1) ?? ""; // oxfmt-ignore
    return [{ language, code, heading, file: /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] }];
  });
}
