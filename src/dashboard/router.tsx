/** Every page and its URL. The URL says what a page shows, so that a link shows the same. */
import { createRootRoute, createRoute, createRouter, Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactElement } from "react";
import { Frame } from "./frame/frame.tsx";
import { lazyPage } from "./frame/lazy-page.tsx";
import {
  readAuditSearch,
  readCursorSearch,
  readDeadSearch,
  readFlowSearch,
  readFlowsSearch,
  readJobSearch,
  readScheduleSearch,
} from "./job-search.ts";
import { Empty, Skeleton, Trouble } from "./parts/notices.tsx";
import { PAGE_URL } from "./places.ts";
import { useTitle } from "./title.ts";

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyPage(async () => (await import("./views/overview.tsx")).Overview),
});
const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  component: lazyPage(async () => (await import("./views/queues.tsx")).Queues),
});
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$queue",
  component: lazyPage(async () => (await import("./views/queue.tsx")).QueuePage),
});
const type = createRoute({
  getParentRoute: () => root,
  path: "/queues/$queue/types/$type",
  component: lazyPage(async () => (await import("./views/type.tsx")).TypePage),
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: readJobSearch,
  component: lazyPage(async () => (await import("./views/jobs.tsx")).Jobs),
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  component: lazyPage(async () => (await import("./views/job.tsx")).JobPage),
});
const dead = createRoute({
  getParentRoute: () => root,
  path: "/dead",
  validateSearch: readDeadSearch,
  component: lazyPage(async () => (await import("./views/dead.tsx")).Dead),
});
const flows = createRoute({
  getParentRoute: () => root,
  path: "/flows",
  validateSearch: readFlowsSearch,
  component: lazyPage(async () => (await import("./views/flows.tsx")).Flows),
});
const flow = createRoute({
  getParentRoute: () => root,
  path: "/flows/$id",
  validateSearch: readFlowSearch,
  component: lazyPage(async () => (await import("./views/flow.tsx")).FlowPage),
});
const operations = createRoute({
  getParentRoute: () => root,
  path: "/operations",
  validateSearch: readCursorSearch,
  component: lazyPage(async () => (await import("./views/operations.tsx")).Operations),
});
const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  validateSearch: readScheduleSearch,
  component: lazyPage(async () => (await import("./views/schedules.tsx")).Schedules),
});
const workers = createRoute({
  getParentRoute: () => root,
  path: "/workers",
  component: lazyPage(async () => (await import("./views/workers.tsx")).Workers),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyPage(async () => (await import("./views/audit.tsx")).Audit),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, queues, queue, type, jobs, job, dead, flows, flow, operations, schedules, workers, audit]),
  basepath: PAGE_URL.pathname,
  // Plain text, so that a URL can be read and typed: ?status=dead&type=email:send.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search as Record<string, unknown>).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    // Colons and commas need no escapes in a query, and are easier to read without them.
    return text === "" ? "" : `?${text.replaceAll("%3A", ":").replaceAll("%2C", ",")}`;
  },
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: () => <Skeleton />,
  defaultErrorComponent: ({ error, reset }) => <Trouble error={error} retry={reset} />,
});

function NotFound(): ReactElement {
  useTitle("No such page");
  return (
    <Empty icon={Compass} title="There is no such page" isPage>
      <Link to="/" className="text-primary underline underline-offset-2">
        Go to the overview
      </Link>
    </Empty>
  );
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
