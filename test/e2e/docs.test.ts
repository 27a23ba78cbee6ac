import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { CLI, plainEnvironment } from "./run-cli.ts";
import { startProgram, temporaryFolder } from "./run-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter((name) => name.endsWith(".md"));

interface Block {
  readonly name: string;
  readonly code: string;
}

/** Every block of a page in this language, under the heading it stands below. */
function blocksOf(page: string, language: "ts" | "bash"): Block[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map((match) => {
    const heading =
      text
        .slice(0, match.index)
        .match(/^#+ .*$/gm)
        ?.at(-1) ?? "";
    return { name: `${page} ${heading}`, code: match[1]! };
  });
}

describe.concurrent("every code block of the documentation is a program that runs", () => {
  test.for(pages.flatMap((page) => blocksOf(page, "ts")))("$name", async (block, { onTestFinished: atTheEnd }) => {
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

describe("every bash block of the documentation is a script that runs", () => {
  test.for(pages.flatMap((page) => blocksOf(page, "bash")))("$name", async (block, { onTestFinished: atTheEnd }) => {
    const cwd = temporaryFolder(atTheEnd);
    const bin = join(cwd, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "millrace"), `#!/bin/sh\nexec ${[process.execPath, ...CLI].map((word) => `'${word}'`).join(" ")} "$@"\n`, {
      mode: 0o755,
    });
    mkdirSync(join(cwd, "here"));
    const { PATH, ...env } = plainEnvironment();
    const child = spawn("bash", ["-euo", "pipefail", "-c", block.code], {
      cwd: join(cwd, "here"),
      env: { ...env, PATH: `${bin}:${PATH}` },
      stdio: ["ignore", "pipe", "pipe"],
      // What a script leaves running in the background is ended with it.
      detached: true,
    });
    atTheEnd(() => {
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {
        // All of them have ended.
      }
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, said: code === 0 ? "" : said }).toEqual({ code: 0, said: "" });
  });
});
