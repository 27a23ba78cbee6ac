/** THE REFERENCE, made from the contract: blocks of text that become Markdown for the docs, and a page of the server. */
import type { TSchema } from "typebox";
import { wordsOfType } from "./check-input.ts";
import { type AnswerKind, type Route, scopeWords, USUAL_PROBLEMS } from "./contract/route.ts";
import { FAMILIES } from "./contract.ts";
import { type ProblemCode, PROBLEMS } from "./problem-codes.ts";

/** A piece of the reference. Texts may have `code` in backticks, but no other markup. */
export type Block =
  | { readonly kind: "heading"; readonly level: 1 | 2 | 3; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | { readonly kind: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

export function referenceBlocks(): Block[] {
  return [
    heading(1, "HTTP reference"),
    paragraph("This page is made from the server's route table, like `/openapi.json` and `/docs`."),
    paragraph(`Every route that needs a scope may also answer with ${listCodes(USUAL_PROBLEMS)}.`),
    ...FAMILIES.flatMap(({ name, routes }) => [heading(2, name), ...Object.entries<Route>(routes).flatMap(routeBlocks)]),
    heading(2, "Problems"),
    paragraph(
      "Every error is a problem (RFC 9457). It has `type`, `title`, `status`, `detail`, `code`, `hint` and `request_id`, and where they apply `field`, `job_id` and `retry_after_ms`.",
    ),
    {
      kind: "table",
      head: ["code", "status", "meaning", "what to do"],
      rows: Object.entries(PROBLEMS).map(([code, { status, title, hint }]) => [`\`${code}\``, String(status), title, hint]),
    },
  ];
}

function routeBlocks([name, route]: [string, Route]): Block[] {
  const scope = route.scope === "open" ? "No scope needed" : `Scope ${scopeWords(route)}`;
  const { problems = [] } = route;
  return [
    heading(3, `\`${name}\``),
    paragraph(`${route.summary}. ${scope}.`),
    ...table("parameter", route.query?.properties),
    ...table("field", fieldsOf(route.body)),
    ...table("header", route.headers),
    { kind: "list", items: Object.entries(route.answers).map(answerText) },
    ...(problems.length === 0 ? [] : [paragraph(`Problems: ${listCodes(problems)}.`)]),
  ];
}

function heading(level: 1 | 2 | 3, text: string): Block {
  return { kind: "heading", level, text };
}

function paragraph(text: string): Block {
  return { kind: "paragraph", text };
}

function answerText([status, { when, mediaType, headers = {} }]: [string, AnswerKind]): string {
  const extras = [...(mediaType === undefined ? [] : [mediaType]), ...Object.keys(headers)].map((extra) => `\`${extra}\``);
  return `\`${status}\` ${when}${extras.length === 0 ? "" : ` (${extras.join(", ")})`}`;
}

function table(what: string, fields: Readonly<Record<string, unknown>> | undefined): Block[] {
  const rows = Object.entries(fields ?? {}).map(([name, field]) => [`\`${name}\``, typeof field === "string" ? field : wordsOf(field)]);
  return rows.length === 0 ? [] : [{ kind: "table", head: [what, ""], rows }];
}

function fieldsOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  return (schema as { properties?: Readonly<Record<string, unknown>> } | undefined)?.properties;
}

function wordsOf(schema: unknown): string {
  const { description, type } = schema as { description?: string; type?: string };
  return description ?? (type === undefined ? "any JSON" : wordsOfType(schema as TSchema));
}

function listCodes(codes: readonly ProblemCode[]): string {
  return codes.map((code) => `\`${code}\` (${PROBLEMS[code].status})`).join(", ");
}

export function referenceMarkdown(): string {
  return `${referenceBlocks().map(blockMarkdown).join("\n\n")}\n`;
}

function blockMarkdown(block: Block): string {
  switch (block.kind) {
    case "heading":
      return `${"#".repeat(block.level)} ${block.text}`;
    case "paragraph":
      return block.text;
    case "list":
      return block.items.map((item) => `- ${item}`).join("\n");
    case "table":
      return [block.head, block.head.map(() => "---"), ...block.rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  }
}
