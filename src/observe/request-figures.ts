import type { Family } from "./exposition.ts";
import { Counter, Histogram } from "./instruments.ts";

/** What is known about a request after it was answered. */
export interface SeenRequest {
  readonly requestId: string;
  readonly method: string;
  /** The path of the route with names in braces; null if there is no such route. */
  readonly route: string | null;
  readonly status: number;
  readonly durationMs: number;
  /** The name of the API key. */
  readonly caller: string | null;
  readonly address: string | null;
  /** The error on our side. */
  readonly error?: unknown;
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Without a route, neither path nor method is shown: the caller can invent both. */
const NO_ROUTE = "(none)";

export class RequestFigures {
  readonly #requests = new Counter({
    name: "millrace_http_requests_total",
    help: "Answered requests, by route and status.",
    labels: ["method", "route", "status"],
  });
  readonly #duration = new Histogram(
    { name: "millrace_http_request_duration_seconds", help: "Time to answer requests, by route.", labels: ["method", "route"] },
    REQUEST_SECONDS,
  );

  request({ method, route, status, durationMs }: Pick<SeenRequest, "method" | "route" | "status" | "durationMs">): void {
    const [verb, path] = route === null ? [NO_ROUTE, NO_ROUTE] : [method, route];
    this.#requests.add(1, verb, path, String(status));
    this.#duration.observe(durationMs / 1000, verb, path);
  }

  families(): Family[] {
    return [this.#requests.family(), this.#duration.family()];
  }
}
