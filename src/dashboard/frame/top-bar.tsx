import { useNavigate } from "@tanstack/react-router";
import { Keyboard, LogOut, Monitor, Moon, Plus, Search, Settings2, Sun } from "lucide-react";
import { type ReactElement, useId, useState } from "react";
import { isId, readQuery } from "../find-jobs.ts";
import { overlay } from "../overlay.ts";
import { Button, IconButton, Key } from "../parts/button.tsx";
import { Menu, MenuCheck, MenuGroup, MenuItem, MenuLine } from "../parts/menu.tsx";
import { messageOf } from "../parts/notices.tsx";
import { usePreference } from "../preferences.ts";
import { completions } from "../search-completions.ts";
import { session, signOut, storedKey } from "../session.ts";
import { type Theme, useTheme } from "../theme.ts";
import { toast } from "../toasts.ts";
import { useWatched } from "../use-watched.ts";
import { LiveSwitch } from "./connection-strip.tsx";
import { mayNotify } from "./dead-alerts.ts";
import { knownValues } from "./known-values.ts";
import { Mark } from "./nav.tsx";

/** Search, live updates, options, and the button to enqueue. */
export function TopBar(): ReactElement {
  const { role } = useWatched(session);
  return (
    <header className="sticky top-0 z-10 flex h-13 items-center gap-1.5 border-b bg-background/90 px-4 backdrop-blur sm:px-6">
      <span className="sm:hidden">
        <Mark />
      </span>
      <SearchBox />
      <div className="ml-auto flex items-center gap-1">
        <LiveSwitch />
        <OptionsMenu />
        {role === "operator" && (
          <Button look="primary" icon={Plus} className="ml-1 max-sm:px-2" onClick={() => overlay.set({ kind: "enqueue" })}>
            <span className="max-sm:sr-only">Enqueue</span>
          </Button>
        )}
      </div>
    </header>
  );
}

/** Opens a job by its id, or a list of jobs by a search: `type:email:send status:dead timeout`. */
function SearchBox(): ReactElement {
  const [text, setText] = useState("");
  const listId = useId();
  const offered = completions(text, knownValues());
  const navigate = useNavigate();
  const go = (): void => {
    const typed = text.trim();
    if (typed === "") return;
    setText("");
    if (isId(typed)) void navigate({ to: "/jobs/$id", params: { id: typed.toLowerCase() } });
    else void navigate({ to: "/jobs", search: readQuery(typed) });
  };
  return (
    <form
      role="search"
      className="relative max-w-md min-w-0 flex-1"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-muted-foreground" />
      <input
        type="search"
        data-search
        aria-label="Find a job by its id, or jobs by a text, type:, queue:, status:, tag:, key:"
        placeholder="Job id, text, type:… status:…"
        autoComplete="off"
        spellCheck={false}
        list={offered.length > 0 ? listId : undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
        className="h-8 w-full rounded-md border border-input bg-card pr-8 pl-8.5 text-ellipsis"
      />
      <datalist id={listId}>
        {offered.map((whole) => (
          <option key={whole}>{whole}</option>
        ))}
      </datalist>
      <span aria-hidden className="pointer-events-none absolute top-1.5 right-2 max-sm:hidden">
        <Key>/</Key>
      </span>
    </form>
  );
}

const THEME_ICONS = { dark: Moon, light: Sun, system: Monitor } as const;

function OptionsMenu(): ReactElement {
  const [theme, setTheme] = useTheme();
  const [jobToasts, setJobToasts] = usePreference("jobToasts");
  const [deadAlerts, setDeadAlerts] = usePreference("deadAlerts");
  const [shortcuts, setShortcuts] = usePreference("shortcuts");
  const { user, role, signIn } = useWatched(session);
  // The application's own page signs its users out.
  const canLeave = storedKey() !== undefined || (user !== null && signIn !== "application");
  return (
    <Menu trigger={<IconButton icon={Settings2} label="Options" />}>
      <MenuGroup title="Theme">
        {(["dark", "light", "system"] satisfies Theme[]).map((name) => (
          <MenuCheck key={name} checked={theme === name} onChange={() => setTheme(name)}>
            <ThemeName name={name} />
          </MenuCheck>
        ))}
      </MenuGroup>
      <MenuLine />
      <MenuCheck checked={jobToasts} onChange={setJobToasts}>
        Message on this page when a job fails for good
      </MenuCheck>
      <MenuCheck checked={deadAlerts} onChange={(isOn) => void (isOn ? mayNotify().then(setDeadAlerts) : setDeadAlerts(false))}>
        Desktop notification of new dead jobs
      </MenuCheck>
      <MenuCheck checked={shortcuts} onChange={setShortcuts}>
        Single-key shortcuts
      </MenuCheck>
      <MenuItem icon={Keyboard} onClick={() => overlay.set({ kind: "shortcuts" })}>
        Keyboard shortcuts
      </MenuItem>
      {canLeave && (
        <>
          <MenuLine />
          <MenuItem icon={LogOut} onClick={() => void leave()}>
            {user === null ? "Forget the API key" : `Sign out ${user} (${role})`}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

async function leave(): Promise<void> {
  try {
    await signOut();
  } catch (error) {
    toast(`You are still signed in. ${messageOf(error)}`, { kind: "failed" });
  }
}

function ThemeName({ name }: { readonly name: Theme }): ReactElement {
  const Icon = THEME_ICONS[name];
  return (
    <>
      <Icon aria-hidden className="size-3.5 opacity-80" />
      {name.charAt(0).toUpperCase() + name.slice(1)}
    </>
  );
}
