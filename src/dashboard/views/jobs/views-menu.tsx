import { useNavigate, useRouter } from "@tanstack/react-router";
import { Bookmark, BookmarkPlus, Link2, Trash2 } from "lucide-react";
import { type ReactElement, useState } from "react";
import { copyText } from "../../copy-text.ts";
import type { JobSearch } from "../../job-search.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { Menu, MenuItem, MenuLine } from "../../parts/menu.tsx";
import { deleteView, isSameView, type SavedView, saveView, useSavedViews } from "../../saved-views.ts";
import { toast } from "../../toasts.ts";

interface ViewsMenuProps {
  readonly page: SavedView["page"];
  readonly search: JobSearch;
}

/** The saved views, and what can be done with the filters that are set. */
export function ViewsMenu({ page, search }: ViewsMenuProps): ReactElement {
  const navigate = useNavigate();
  const router = useRouter();
  const views = useSavedViews();
  const [isNaming, setNaming] = useState(false);
  const { cursor: _, ...filters } = search;
  // Without the position in the list: it would lead elsewhere tomorrow.
  const link = new URL(router.buildLocation({ to: page, search: filters }).publicHref, location.href).href;
  const current = views.find((view) => isSameView(view, page, filters));
  return (
    <>
      <Menu
        trigger={
          <Button look="quiet" icon={Bookmark}>
            {current?.name ?? "Views"}
          </Button>
        }
      >
        {views.map((view) => (
          <MenuItem key={view.name} icon={Bookmark} onClick={() => void navigate({ to: view.page, search: view.search })}>
            {view.name}
          </MenuItem>
        ))}
        {views.length > 0 && <MenuLine />}
        <MenuItem icon={BookmarkPlus} onClick={() => setNaming(true)}>
          Save this view…
        </MenuItem>
        <MenuItem icon={Link2} onClick={() => void copyText(link, "Link")}>
          Copy a link to this view
        </MenuItem>
        {current !== undefined && (
          <MenuItem icon={Trash2} danger onClick={() => deleteView(views, current.name)}>
            Delete the view {current.name}
          </MenuItem>
        )}
      </Menu>
      {isNaming && (
        <NameDialog
          taken={views.map(({ name }) => name)}
          onClose={() => setNaming(false)}
          onName={(name) => {
            saveView(views, { name, page, search: filters });
            setNaming(false);
            toast(`The view ${name} is saved in this browser`);
          }}
        />
      )}
    </>
  );
}

interface NameDialogProps {
  readonly taken: readonly string[];
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}

const MAX_NAME = 60;

function NameDialog({ taken, onName, onClose }: NameDialogProps): ReactElement {
  const [name, setName] = useState("");
  const given = name.trim();
  return (
    <FormDialog
      title="Save this view"
      onClose={onClose}
      submit={taken.includes(given) ? "Replace" : "Save"}
      isReady={given !== ""}
      onSubmit={() => onName(given)}
    >
      <TextField
        label="Name"
        first
        maxLength={MAX_NAME}
        value={name}
        onChange={setName}
        hint="The filters are saved in this browser. To share them, send a link."
      />
    </FormDialog>
  );
}
