/**
 * JSON AS A TREE. Renders only what is open, and long lists and texts in parts: a megabyte costs no more than a kilobyte until somebody
 * opens it.
 */
import { ChevronRight } from "lucide-react";
import { type ReactElement, type ReactNode, useState } from "react";
import { WrittenNumber } from "../../core/json-text.ts";
import { count } from "../format.ts";
import { visible } from "../safe-text.ts";

const STEP = 100;
const TEXT_STEP = 2000;
/** Open from the start: down to this depth, with at most this many entries. */
const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 30;

export function JsonTree({ value }: { readonly value: unknown }): ReactElement {
  return (
    <div dir="ltr" className="font-mono text-xs leading-5">
      <Branch name={null} value={value} depth={0} />
    </div>
  );
}

interface BranchProps {
  /** Null at the root. */
  readonly name: string | number | null;
  readonly value: unknown;
  readonly depth: number;
}

function Branch({ name, value, depth }: BranchProps): ReactElement {
  return typeof value === "object" && value !== null && !(value instanceof WrittenNumber) ? (
    <Container name={name} value={value} depth={depth} />
  ) : (
    <div className="py-px pl-4.5">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Container({ name, value, depth }: BranchProps & { readonly value: object }): ReactElement {
  const isList = Array.isArray(value);
  const size = isList ? value.length : Object.keys(value).length;
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && size <= OPEN_ENTRIES && size > 0);
  const [shown, setShown] = useState(STEP);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (size === 0) {
    return (
      <div className="py-px pl-4.5">
        <Name name={name} />
        {open + close}
      </div>
    );
  }
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-5.5 max-w-full items-center gap-0.5 rounded text-left hover:bg-accent"
      >
        <ChevronRight aria-hidden className={`size-4 shrink-0 text-muted-foreground transition-transform ${isOpen ? "rotate-90" : ""}`} />
        <span className="min-w-0 break-all">
          <Name name={name} />
          {open}
          {!isOpen && (
            <>
              <span className="text-muted-foreground"> {isList ? `${count(size)} items` : keysOf(value)} </span>
              {close}
            </>
          )}
        </span>
      </button>
      {isOpen && (
        <>
          <div className="ml-2 border-l pl-2">
            <Entries value={value} shown={shown} depth={depth + 1} />
            {shown < size && (
              <More onClick={() => setShown(shown + STEP * 5)}>
                Show {count(Math.min(STEP * 5, size - shown))} of {count(size - shown)} more
              </More>
            )}
          </div>
          <div className="pl-4.5">{close}</div>
        </>
      )}
    </div>
  );
}

function Entries({ value, shown, depth }: { readonly value: object; readonly shown: number; readonly depth: number }): ReactNode {
  if (Array.isArray(value)) {
    return value.slice(0, shown).map((item: unknown, index) => <Branch key={index} name={index} value={item} depth={depth} />);
  }
  return Object.entries(value)
    .slice(0, shown)
    .map(([key, item]) => <Branch key={key} name={key} value={item} depth={depth} />);
}

/** Some of the keys, as a preview. */
function keysOf(value: object): string {
  const keys = Object.keys(value);
  const some = keys.slice(0, 4).map((key) => visible(key.slice(0, 24)));
  return keys.length > some.length ? `${some.join(", ")}, … ${count(keys.length)} keys` : some.join(", ");
}

function Name({ name }: { readonly name: string | number | null }): ReactNode {
  if (name === null) return null;
  return (
    <>
      <bdi className={`break-all ${typeof name === "number" ? "text-muted-foreground" : "text-json-key"}`}>
        {typeof name === "number" ? name : visible(name)}
      </bdi>
      <span className="text-muted-foreground">: </span>
    </>
  );
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "string") return <Text text={value} />;
  if (value instanceof WrittenNumber) return <span className="break-all text-json-number">{value.text}</span>;
  if (typeof value === "number") return <span className="break-all text-json-number">{String(value)}</span>;
  return <span className="text-json-word">{String(value)}</span>;
}

function Text({ text }: { readonly text: string }): ReactElement {
  const [shown, setShown] = useState(TEXT_STEP);
  return (
    <>
      <bdi className="break-words whitespace-pre-wrap text-json-string [overflow-wrap:anywhere]">
        &quot;{visible(text.slice(0, shown))}
        {text.length > shown ? "…" : '"'}
      </bdi>
      {text.length > shown && (
        <More onClick={() => setShown(shown * 10)}>
          Show {count(Math.min(shown * 9, text.length - shown))} of {count(text.length - shown)} more characters
        </More>
      )}
    </>
  );
}

function More({ onClick, children }: { readonly onClick: () => void; readonly children: ReactNode }): ReactElement {
  return (
    <button
      type="button"
      onClick={onClick}
      className="my-0.5 ml-4.5 min-h-6 rounded bg-secondary px-2 font-sans text-primary hover:bg-accent"
    >
      {children}
    </button>
  );
}
