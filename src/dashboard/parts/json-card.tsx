/** A JSON value, as a tree or as text, to copy or to download. */
import { Download } from "lucide-react";
import { type ReactElement, useMemo, useState } from "react";
import { asWritten, jsonOf, prettyJson } from "../../core/json-text.ts";
import { bytes } from "../format.ts";
import { visible } from "../safe-text.ts";
import { CopyButton } from "./bits.tsx";
import { IconButton } from "./button.tsx";
import { Card } from "./card.tsx";
import { JsonTree } from "./json-tree.tsx";

/** Longer text is cut; copies and downloads have all of it. */
const MAX_TEXT = 256 * 1024;

interface JsonCardProps {
  /** What it is: "Payload". */
  readonly title: string;
  readonly value: unknown;
  /** The name of the downloaded file. */
  readonly file: string;
}

export function JsonCard({ title, value, file }: JsonCardProps): ReactElement {
  const [isText, setText] = useState(false);
  const text = useMemo(() => prettyJson(value), [value]);
  const shown = useMemo(() => asWritten(value), [value]);
  // Of the stored text: the shown one has more space in it.
  const size = useMemo(() => new Blob([jsonOf(value)]).size, [value]);
  const what = title.toLowerCase();
  const controls = (
    <div className="flex items-center gap-1">
      <span className="mr-1 text-xs text-muted-foreground">{bytes(size)}</span>
      <div role="group" aria-label={`How the ${what} is shown`} className="flex gap-0.5 rounded-md bg-muted p-0.5">
        {["Tree", "Text"].map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={isText === (name === "Text")}
            onClick={() => setText(name === "Text")}
            className="h-6 rounded px-2 text-xs text-muted-foreground aria-pressed:bg-accent aria-pressed:text-foreground"
          >
            {name}
          </button>
        ))}
      </div>
      <CopyButton text={text} what={what} />
      <IconButton icon={Download} label={`Download the ${what}`} onClick={() => download(text, file)} />
    </div>
  );
  return (
    <Card title={title} aside={controls} flush>
      <div className="max-h-[32rem] overflow-auto p-3" role="region" aria-label={title} tabIndex={0}>
        {isText ? (
          <pre dir="ltr" className="font-mono text-xs leading-5 break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
            {visible(text.slice(0, MAX_TEXT))}
            {text.length > MAX_TEXT && `\n… cut here: ${bytes(text.length - MAX_TEXT)} more. Copy or download to see it all.`}
          </pre>
        ) : (
          <JsonTree value={shown} />
        )}
      </div>
    </Card>
  );
}

function download(text: string, file: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = file;
  link.click();
  URL.revokeObjectURL(address);
}
