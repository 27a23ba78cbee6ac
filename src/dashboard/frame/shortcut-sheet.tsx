import type { ReactElement } from "react";
import { Key } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { PAGES } from "./nav.tsx";

const GROUPS: readonly (readonly [title: string, rows: readonly (readonly [keys: string, does: string])[]])[] = [
  [
    "Anywhere",
    [
      ["?", "Show these shortcuts"],
      ["/", "Find jobs"],
      ["Ctrl K or ⌘ K", "Open the command palette"],
      ["e", "Enqueue a job"],
      ["l", "Pause or resume live updates"],
      ["t", "Next theme"],
      ["Esc", "Close the dialog or menu"],
    ],
  ],
  ["Go to", PAGES.map(({ key, label }) => [`g ${key}`, label] as const)],
  [
    "In a list of jobs",
    [
      ["j", "Next row"],
      ["k", "Previous row"],
      ["Enter or o", "Open the job"],
      ["x", "Select the row"],
      ["r", "Retry the selection, or the row"],
      ["c", "Cancel the selection, or the row"],
      ["n", "Next page"],
      ["p", "Previous page"],
      ["y", "Copy the id"],
    ],
  ],
  [
    "On a job",
    [
      ["r", "Retry it, or start it now"],
      ["c", "Cancel it"],
      ["d", "Duplicate and edit it"],
      ["y", "Copy its id"],
      ["[", "Previous job of the list"],
      ["]", "Next job of the list"],
    ],
  ],
  [
    "On a flow",
    [
      ["r", "Retry what failed"],
      ["c", "Cancel it"],
      ["y", "Copy its id"],
      ["← or →", "In the graph: the member before or after"],
      ["↑ or ↓", "In the graph: the member above or below"],
    ],
  ],
];

export default function ShortcutSheet({ onClose }: { readonly onClose: () => void }): ReactElement {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} wide>
      {/* It has the focus, so that the arrow keys scroll it where it does not fit. */}
      <div tabIndex={0} role="group" aria-label="All shortcuts" data-first className="columns-1 gap-8 p-4 outline-none sm:columns-2">
        {GROUPS.map(([title, rows]) => (
          <section key={title} className="mb-5 break-inside-avoid">
            <h3 className="mb-1 text-xs font-medium text-muted-foreground">{title}</h3>
            <dl>
              {rows.map(([keys, does]) => (
                <div key={does} className="flex items-center justify-between gap-4 border-b py-1 last:border-b-0">
                  <dt className="order-2 flex shrink-0 gap-1">
                    {keys.split(" ").map((key, index) => (key === "or" ? <span key={index}>or</span> : <Key key={index}>{key}</Key>))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
