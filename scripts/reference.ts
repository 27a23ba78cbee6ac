// Generates .env.example and the tables of docs/settings.md and docs/cli.md from the tables of settings and commands.

import { SETTING_NAMES, type SettingName, SETTINGS } from "../src/config.ts";
import { type Setting, SETTING_GROUPS } from "../src/config/setting.ts";
import { type Command, flagOf } from "../src/cli/command.ts";
import { COMMANDS, isGroup } from "../src/cli/commands.ts";
import { GLOBAL_OPTIONS } from "../src/cli/program.ts";

type AnySetting = Setting<unknown, unknown>;

/** The text of .env.example: every setting with its meaning and its default, as comments. */
export function envExample(): string {
  const groups = SETTING_GROUPS.map((group) => {
    const lines = settingsOf(group).map((name) => {
      const { env, about, kind, fallback, aliases = [] } = SETTINGS[name] as AnySetting;
      const others = aliases.length === 0 ? "" : ` Also: ${aliases.map((alias) => alias.env).join(", ")}.`;
      return `# ${about}${others}\n# Must be ${kind.mustBe}.\n# ${env}=${kind.show(fallback)}\n`;
    });
    return `# ── ${group} ──\n\n${lines.join("\n")}`;
  });
  return [
    "# Every setting of Millrace. Copy this file to .env, remove the # before the settings you change, and run: millrace --env-file .env …",
    "# A flag overrides the environment, the environment overrides millrace.config.ts, and that overrides the default, which is shown here.",
    "",
    groups.join("\n"),
  ].join("\n");
}

/** The tables of docs/settings.md. */
export function settingsTables(): string {
  return SETTING_GROUPS.map(
    (group) => `### ${group}\n\n${table(["setting", "flag", "in a file", "default", "what it is"], settingsOf(group).map(settingRow))}`,
  ).join("\n\n");
}

function settingRow(name: SettingName): string[] {
  const { env, flag, kind, fallback, about, secret, aliases = [] } = SETTINGS[name] as AnySetting;
  const names = [env, ...aliases.map((alias) => alias.env)].map(code).join(" ");
  const inFile = [name, ...aliases.flatMap((alias) => alias.inFile ?? [])].map(code).join(" ");
  const usual = kind.show(fallback);
  const flags = flag === undefined ? "" : code(`--${flag}`);
  return [names, flags, inFile, usual === "" ? "" : code(usual), `${about} Must be ${kind.mustBe}.${secret ? " A secret." : ""}`];
}

/** The reference of docs/cli.md: the options of every command, then each command. */
export async function commandReference(): Promise<string> {
  const shared = `### Every command\n\n${table(
    ["option", "meaning"],
    GLOBAL_OPTIONS.map(([flags, about]) => [code(flags), about]),
  )}`;
  const sections = await Promise.all(COMMANDS.map(async ({ name, load }) => commandSections(name, await load())));
  return [shared, ...sections.flat()].join("\n\n");
}

function commandSections(name: string, command: Awaited<ReturnType<(typeof COMMANDS)[number]["load"]>>): string[] {
  if (!isGroup(command)) return [commandSection(name, command)];
  const verbs = Object.entries(command.commands).map(([verb, facts]) => commandSection(`${name} ${verb}`, facts));
  return [`### millrace ${name}\n\n${command.about} The default verb is \`list\`.`, ...verbs];
}

function commandSection(name: string, command: Command): string {
  const examples = ["```sh", ...command.examples, "```"].join("\n");
  const rows = [
    ...Object.values(command.arguments).map(({ form, about }) => [code(form), about]),
    ...Object.entries(command.options).map(([option, { placeholder, about }]) => [code(`${flagOf(option)} ${placeholder}`.trim()), about]),
    // Secrets have no flag.
    ...command.settings.flatMap((setting) => {
      const { flag, kind, about, env } = SETTINGS[setting] as AnySetting;
      return flag === undefined ? [] : [[code(`--${flag} ${kind.placeholder}`.trim()), `${about} ([${env}](settings.md))`]];
    }),
  ];
  const options = rows.length === 0 ? [] : [table(["option", "meaning"], rows)];
  return [`### millrace ${name}`, command.about, examples, ...options].join("\n\n");
}

/** The page with new text between the two marks. */
export function withMade(page: string, made: string): string {
  const [begin, end] = ["<!-- begin: made by npm run reference -->", "<!-- end: made by npm run reference -->"];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page has no ${begin} … ${end}`);
  return `${before}${begin}\n\n${made}\n\n${end}${after}`;
}

function settingsOf(group: string): SettingName[] {
  return SETTING_NAMES.filter((name) => SETTINGS[name].group === group);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
