import { SlidersHorizontal } from "lucide-react";
import { type ReactElement, useContext } from "react";
import { Button, IconButton } from "../../../parts/button.tsx";
import { useIsNarrow } from "../../../parts/narrow.ts";
import { visible } from "../../../safe-text.ts";
import { type EditedKey, EditKey, WITHOUT_KEY } from "./edit-key.ts";

/** At the end of the row of a key. */
export function EditKeyButton({ row: { key, own, running } }: { readonly row: EditedKey }): ReactElement | null {
  const edit = useContext(EditKey);
  const isNarrow = useIsNarrow();
  if (edit === null) return null;
  const open = (): void => edit({ key, own, running });
  const label = `Limits of ${key === null ? WITHOUT_KEY : visible(key)}`;
  // In a card it has a line of its own.
  if (isNarrow) {
    return (
      <Button icon={SlidersHorizontal} aria-label={label} onClick={open}>
        Limits
      </Button>
    );
  }
  return <IconButton icon={SlidersHorizontal} label={label} className="size-8" onClick={open} />;
}
