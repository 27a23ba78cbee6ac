/** Every page and its address. What a page shows is in its address: a link to it shows the same. */
import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { Frame } from "./frame/frame.tsx";
import { laterPage } from "./frame/later-page.tsx";
import { Lost } from "./frame/lost.tsx";
import { readDeadSearch, readJobSearch, readScheduleSearch } from "./job-search.ts";
import { Skeleton, Trouble } from "./parts/notices.tsx";
import { PAGE_URL } from "./places.ts";

const root = createRootRoute({ component: Frame, notFoundComponent: Lost });

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: laterPage(async () => (await import("./views/overview.tsx")).Overview),
});
const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  component: laterPage(async () => (await import("./views/queues.tsx")).Queues),
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: readJobSearch,
  component: laterPage(async () => (await import("./views/jobs.tsx")).Jobs),
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  component: laterPage(async () => (await import("./views/job.tsx")).JobPage),
});
const dead = createRoute({
  getParentRoute: () => root,
  path: "/dead",
  validateSearch: readDeadSearch,
  component: laterPage(async () => (await import("./views/dead.tsx")).Dead),
});
const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  validateSearch: readScheduleSearch,
  component: laterPage(async () => (await import("./views/schedules.tsx")).Schedules),
});
const workers = createRoute({
  getParentRoute: () => root,
  path: "/workers",
  component: laterPage(async () => (await import("./views/workers.tsx")).Workers),
});

/** The pages. */
export const router = createRouter({
  routeTree: root.addChildren([overview, queues, jobs, job, dead, schedules, workers]),
  basepath: PAGE_URL.pathname,
  // Plain texts, so that an address can be read and typed: ?status=dead&type=email:send.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search as Record<string, unknown>).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    // Colons and commas mean nothing to a query, and are read more easily as they are.
    return text === "" ? "" : `?${text.replaceAll("%3A", ":").replaceAll("%2C", ",")}`;
  },
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: () => <Skeleton />,
  defaultErrorComponent: ({ error, reset }) => <Trouble error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
