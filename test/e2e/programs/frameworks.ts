// Runs several programs of docs/frameworks.md in one process: each is loaded with a port and a store of its own.
import { pathToFileURL } from "node:url";
import { serve } from "@hono/node-server";
import type { NextHandlers } from "../../../src/server.ts";
import { findNest } from "../find-nest.ts";

findNest();

const [, , programs = "[]"] = process.argv;

for (const { file, port, url = "memory:" } of JSON.parse(programs) as { file: string; port: number; url?: string }[]) {
  process.env["PORT"] = String(port);
  process.env["MILLRACE_URL"] = url;
  const program = (await import(pathToFileURL(file).href)) as Partial<NextHandlers & { register: () => Promise<void> }>;
  if (program.register !== undefined) await registerInNode(program.register);
  if (program.GET !== undefined) serveRoute(program as NextHandlers, port);
}
console.log("all are loaded");

/** As Next.js does it in its Node server, before it takes requests. */
async function registerInNode(register: () => Promise<void>): Promise<void> {
  process.env["NEXT_RUNTIME"] = "nodejs";
  await register();
}

/** As Next.js does it: a path below the route's folder is a list of steps, the folder itself has none. */
function serveRoute(route: NextHandlers, port: number): void {
  const mount = "/admin/jobs";
  const http = serve({
    port,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== mount && !pathname.startsWith(`${mount}/`)) return new Response("no such page", { status: 404 });
      const path = pathname.slice(mount.length).split("/").filter(Boolean);
      const handler = route[request.method as keyof NextHandlers];
      return handler(new Request(request), { params: Promise.resolve(path.length === 0 ? {} : { path }) });
    },
  });
  // Next.js waits for open requests, and the program ends its own.
  process.once("SIGTERM", () => http.close());
}
