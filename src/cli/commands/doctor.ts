import { SETTINGS } from "../../config.ts";
import type { SettingName } from "../../config.ts";
import { readSetting } from "../../config/read-config.ts";
import { defineCommand } from "../command.ts";
import { type Check, examineNode, examineSettings, examineStore, type SettingCheck } from "../doctor/examine.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { NOTHING } from "../figures.ts";
import type { Output } from "../output.ts";
import type { Session } from "../session.ts";
import type { Column } from "../table.ts";

export const doctor = defineCommand({
  about:
    "Checks the settings, the version of Node, and the store or server: whether it answers, its version and schema, its clock, and what it does when its memory is full. Changes nothing. Exits with 9 if it finds a problem.",
  examples: ["millrace doctor", "millrace doctor --url redis://localhost:6379 --json"],
  async run(_input, session) {
    const { settings, checks: wrong } = await examineSettings(session);
    const checks = [...wrong, examineNode(), ...(await checkStore(session))];
    print(checks, settings, session.output);
    return verdict(checks, session.output);
  },
});

/** An invalid URL is already reported as a setting. */
async function checkStore(session: Session): Promise<Check[]> {
  try {
    const { value } = readSetting("url", await session.sources());
    return await examineStore(value, session);
  } catch {
    return [];
  }
}

function verdict(checks: readonly Check[], output: Output): ExitCode {
  const bad = checks.filter(({ grade }) => grade === "bad").length;
  const doubtful = checks.filter(({ grade }) => grade === "doubtful").length;
  output.message(bad + doubtful === 0 ? "no problems found" : `${bad} bad, ${doubtful} doubtful`);
  return bad === 0 ? EXIT.ok : EXIT.problemsFound;
}

function print(checks: readonly Check[], settings: readonly SettingCheck[], output: Output): void {
  if (output.json) {
    for (const { name, grade, message } of checks) output.value({ kind: "check", name, grade, message });
    for (const { name, value, source } of settings)
      output.value({ kind: "setting", name: envOf(name), value, from: source?.from ?? null, source: source?.name ?? null });
    return;
  }
  output.table(checkColumns, checks);
  output.line("");
  output.table(settingColumns, settings);
}

function envOf(name: string): string {
  return SETTINGS[name as SettingName].env;
}

const checkColumns: readonly Column<Check>[] = [
  { title: "CHECK", text: ({ name }) => name },
  {
    title: "GRADE",
    text: ({ grade }) => grade,
    style: ({ grade }) => ({ good: "green", doubtful: "yellow", bad: "red" } as const)[grade],
  },
  { title: "FOUND", text: ({ message }) => message, wraps: true, atLeast: 20 },
];

const settingColumns: readonly Column<SettingCheck>[] = [
  { title: "SETTING", text: ({ name }) => envOf(name) },
  { title: "VALUE", text: ({ value }) => value || NOTHING, shrinks: "end" },
  { title: "FROM", text: ({ source }) => source?.name ?? "invalid, see above" },
];
