/** The page of a link, as HTML. It has no script and loads no other file; its policy allows only its own style and its own form. */
import { hash } from "node:crypto";
import { safeLine } from "../core/safe-line.ts";

export interface PageParts {
  readonly title: string;
  readonly text: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  /** What is sent, as text of several lines. */
  readonly payload?: string | null;
  /** The words of the button; without them there is none. */
  readonly button?: string;
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 1.0625rem/1.5 system-ui, sans-serif; margin: 0; padding: 1rem; background: light-dark(#f6f8f8, #0f1719); color: light-dark(#16211f, #d7e2e2) }
main { max-width: 34rem; margin: 4vh auto 0; padding: 1.25rem; border: 1px solid light-dark(#cdd8d6, #2b3a3c); border-radius: 12px; background: light-dark(#fff, #162022) }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere }
dl { margin: 1.25rem 0 }
dt { font-size: .875rem; color: light-dark(#52615e, #93a5a3) }
dd { margin: 0 0 .75rem; overflow-wrap: anywhere }
pre { font: .9375rem/1.45 ui-monospace, monospace; margin: 0; padding: .75rem; overflow: auto; max-height: 40vh; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 8px; background: light-dark(#eef2f1, #0f1719) }
button { font: inherit; font-weight: 600; width: 100%; min-height: 3rem; padding: .5rem 1rem; border: 0; border-radius: 8px; background: light-dark(#0f766e, #5eead4); color: light-dark(#fff, #06201c); overflow-wrap: anywhere; cursor: pointer }
button:focus-visible { outline: 3px solid light-dark(#134e4a, #d7e2e2); outline-offset: 2px }
`;

/** Headers that belong to the page. The address holds the link, so it is told to nobody. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "Referrer-Policy": "no-referrer",
  "X-Robots-Tag": "noindex",
};

export function signalPage({ title, text, facts = [], payload = null, button }: PageParts): string {
  const rows = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd><bdi>${escaped(value)}</bdi></dd>`);
  if (payload !== null) rows.push(`<dt>What is sent</dt><dd><pre dir="ltr">${payload.split("\n").map(escaped).join("\n")}</pre></dd>`);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main>`,
    `<h1>${escaped(title)}</h1><p>${escaped(text)}</p>`,
    ...(rows.length === 0 ? [] : [`<dl>${rows.join("")}</dl>`]),
    // Without an address, it is sent to where the page is: that is right under any mount path.
    ...(button === undefined ? [] : [`<form method="post"><button>${escaped(button)}</button></form>`]),
    "</main></body></html>",
  ].join("\n");
}

/** Text that cannot be taken for markup, nor turn the direction of the line around. */
function escaped(text: string): string {
  return safeLine(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
