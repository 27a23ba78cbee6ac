import { Link, type LinkProps, useLocation, useNavigate } from "@tanstack/react-router";
import {
  CalendarClock,
  Cpu,
  Ellipsis,
  Gauge,
  Layers,
  ListChecks,
  type LucideIcon,
  ScrollText,
  Skull,
  SquareStack,
  Workflow,
} from "lucide-react";
import type { ReactElement } from "react";
import type { Stats } from "../api.ts";
import { compact, count } from "../format.ts";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { useStats } from "../queries.ts";

interface NavItem {
  readonly to: LinkProps["to"];
  readonly label: string;
  /** For narrow screens. */
  readonly short?: string;
  readonly icon: LucideIcon;
  readonly key: string;
  /** How many there are, and of what. */
  readonly figure?: (stats: Stats) => { readonly value: number; readonly of: string; readonly alarms?: boolean };
}

/** The pages, in the order of the navigation. */
export const PAGES: readonly NavItem[] = [
  { to: "/", label: "Overview", icon: Gauge, key: "o" },
  {
    to: "/queues",
    label: "Queues",
    icon: Layers,
    key: "q",
    figure: ({ counts }) => ({ value: counts.pending + counts.scheduled + counts.retrying, of: "waiting" }),
  },
  { to: "/jobs", label: "Jobs", icon: ListChecks, key: "j", figure: ({ counts }) => ({ value: counts.running, of: "running" }) },
  {
    to: "/dead",
    label: "Dead letters",
    short: "Dead",
    icon: Skull,
    key: "d",
    figure: ({ deadCount }) => ({ value: deadCount, of: "dead", alarms: true }),
  },
  { to: "/flows", label: "Flows", icon: Workflow, key: "f" },
  { to: "/operations", label: "Operations", icon: SquareStack, key: "b" },
  { to: "/schedules", label: "Schedules", icon: CalendarClock, key: "s" },
  { to: "/workers", label: "Workers", icon: Cpu, key: "w", figure: ({ activeWorkers }) => ({ value: activeWorkers, of: "active" }) },
  { to: "/audit", label: "Audit", icon: ScrollText, key: "a" },
];

/** The first ones fit beside each other on a phone, with their names; the others are in a menu there. */
const ON_A_PHONE = 4;

/** How far down the pages at the left side reach: the logo, and for each page its link and the gap before the next one. */
export const NAV_HEIGHT: string = `${3.25 + PAGES.length * 2.25}rem`;

/** The pages at the left side, or at the bottom of a narrow screen. */
export function Nav(): ReactElement {
  const { data } = useStats();
  return (
    <nav
      aria-label="Pages"
      className="z-20 flex shrink-0 flex-col border-r bg-card max-sm:fixed max-sm:inset-x-0 max-sm:bottom-0 max-sm:border-t max-sm:border-r-0 sm:sticky sm:top-0 sm:h-dvh sm:w-14 lg:w-52"
    >
      <Link to="/" className="flex h-13 items-center gap-2.5 px-4 max-sm:hidden lg:px-5" aria-label="Millrace, overview">
        <Mark />
        <span className="text-base font-semibold tracking-tight max-lg:hidden">Millrace</span>
      </Link>
      <ul className="flex gap-0.5 max-sm:px-1 max-sm:pb-[env(safe-area-inset-bottom)] sm:flex-col sm:px-2">
        {PAGES.map((page, index) => (
          <NavLink key={page.label} page={page} stats={data} isOnPhone={index < ON_A_PHONE} />
        ))}
        <li className="sm:hidden max-sm:flex-1">
          <MorePages />
        </li>
      </ul>
    </nav>
  );
}

const LINK =
  "group relative flex items-center gap-2.5 rounded-md text-muted-foreground transition-colors hover:bg-accent hover:text-foreground aria-[current=page]:text-foreground max-sm:h-14 max-sm:w-full max-sm:flex-col max-sm:justify-center max-sm:gap-0.5 sm:h-8.5 sm:px-3 sm:aria-[current=page]:bg-accent";
const ICON = "size-4 shrink-0 group-aria-[current=page]:text-primary max-sm:size-5";

/** The pages that have no place at the bottom of a narrow screen. */
function MorePages(): ReactElement {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const others = PAGES.slice(ON_A_PHONE);
  const isHere = others.some(({ to = "/" }) => pathname.startsWith(to));
  return (
    <Menu
      trigger={
        <button type="button" aria-current={isHere ? "page" : undefined} className={LINK}>
          <Ellipsis aria-hidden className={ICON} />
          <span className="text-2xs">More</span>
        </button>
      }
    >
      {others.map(({ to = "/", label, icon }) => (
        <MenuItem key={label} icon={icon} onClick={() => void navigate({ to })}>
          {label}
        </MenuItem>
      ))}
    </Menu>
  );
}

interface NavLinkProps {
  readonly page: NavItem;
  readonly stats: Stats | undefined;
  readonly isOnPhone: boolean;
}

function NavLink({ page, stats, isOnPhone }: NavLinkProps): ReactElement {
  const { to, label, short = label, icon: Icon, figure } = page;
  const shown = stats === undefined ? undefined : figure?.(stats);
  return (
    <li className={`max-sm:flex-1 ${isOnPhone ? "" : "max-sm:hidden"}`}>
      <Link to={to} activeOptions={{ exact: to === "/", includeSearch: false }} className={LINK} title={label}>
        <Icon aria-hidden className={ICON} />
        <span className="max-lg:sr-only max-sm:not-sr-only max-sm:text-2xs">
          <span className="sm:hidden">{short}</span>
          <span className="max-sm:hidden">{label}</span>
        </span>
        {shown !== undefined && shown.value > 0 && <Figure {...shown} />}
      </Link>
    </li>
  );
}

function Figure({ value, of, alarms = false }: { readonly value: number; readonly of: string; readonly alarms?: boolean }): ReactElement {
  return (
    <span
      title={`${count(value)} ${of}`}
      className={`text-2xs font-medium max-lg:absolute max-lg:top-0.5 max-lg:right-0 max-lg:rounded-full max-lg:px-1 max-sm:right-1/2 max-sm:translate-x-7 lg:ml-auto ${alarms ? "text-dead max-lg:bg-card" : "text-muted-foreground max-lg:hidden"}`}
    >
      {compact(value)}
      <span className="sr-only"> {of}</span>
    </span>
  );
}

/** The logo: a wheel and water. */
export function Mark(): ReactElement {
  return (
    <svg viewBox="0 0 24 24" aria-hidden className="size-6 shrink-0 text-primary" fill="none" stroke="currentColor" strokeLinecap="round">
      <circle cx="12" cy="9.5" r="6.25" strokeWidth="1.8" />
      <path d="M12 3.5v12M6 9.5h12M7.8 5.3l8.4 8.4M16.2 5.3l-8.4 8.4" strokeWidth="1.2" opacity=".7" />
      <path d="M2.5 20.5c1.6-1.6 3.2-1.6 4.75 0s3.15 1.6 4.75 0 3.15-1.6 4.75 0 3.15 1.6 4.75 0" strokeWidth="1.8" />
    </svg>
  );
}
