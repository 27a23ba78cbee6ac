import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startProgram, temporaryFolder } from "./run-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter((name) => name.endsWith(".md"));

interface Block {
  readonly name: string;
  readonly code: string;
}

/** Every ```ts block of a page, under the heading it stands below. */
function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => {
    const heading =
      text
        .slice(0, match.index)
        .match(/^#+ .*$/gm)
        ?.at(-1) ?? "";
    return { name: `${page} ${heading}`, code: match[1]! };
  });
}

describe.concurrent("every code block of the documentation is a program that runs", () => {
  test.for(pages.flatMap(blocksOf))("$name", async (block, { onTestFinished: atTheEnd }) => {
    const folder = temporaryFolder(atTheEnd);
    // As in a project of one's own: what the program imports is found beside it.
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules", "millrace"));
    symlinkSync(join(root, "node_modules", "zod"), join(folder, "node_modules", "zod"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "program.ts"), block.code);
    const program = startProgram(join(folder, "program.ts"), [], { cwd: folder, atTheEnd });
    const { code } = await program.ended;
    expect({ code, stderr: program.output.stderr }).toEqual({ code: 0, stderr: "" });
  });
});
