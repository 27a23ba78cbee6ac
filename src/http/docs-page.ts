/** The reference as a page. It has no script and loads no other file; its policy allows only its own style. */
import { hash } from "node:crypto";
import { type Block, referenceBlocks } from "./reference.ts";

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: #0f1719; color: #d7e2e2 }
h1, h2, h3 { color: #5eead4 }
code { font-family: ui-monospace, monospace; background: #1b2628; padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere }
table { border-collapse: collapse; margin: 1rem 0 }
td, th { border: 1px solid #2b3a3c; padding: .3rem .6rem; text-align: left; vertical-align: top }
`;

/** Headers that belong to the page. */
export const DOCS_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  "Referrer-Policy": "no-referrer",
};

let made: string | null = null;

/** The page; made once. */
export function docsPage(): string {
  made ??= [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Millrace: HTTP reference</title><style>${STYLE}</style></head><body><main>`,
    ...referenceBlocks().map(blockHtml),
    "</main></body></html>",
  ].join("\n");
  return made;
}

function blockHtml(block: Block): string {
  switch (block.kind) {
    case "heading":
      return element(`h${block.level}`, inline(block.text));
    case "paragraph":
      return element("p", inline(block.text));
    case "list":
      return element("ul", block.items.map((item) => element("li", inline(item))).join(""));
    case "table":
      return element("table", [row("th", block.head), ...block.rows.map((cells) => row("td", cells))].join(""));
  }
}

function row(tag: string, cells: readonly string[]): string {
  return element("tr", cells.map((cell) => element(tag, inline(cell))).join(""));
}

function element(tag: string, inner: string): string {
  return `<${tag}>${inner}</${tag}>`;
}

function inline(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/`([^`]+)`/g, "<code>$1</code>");
}
