import { describe, expect, test } from "vitest";
import { type RouteName, ROUTES, splitName } from "../../../src/http/contract.ts";
import type { Route } from "../../../src/http/contract/route.ts";
import { openApiDocument } from "../../../src/http/openapi.ts";
import { PROBLEMS } from "../../../src/http/problem-codes.ts";
import { openApi } from "./open-api.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

const document = openApiDocument("1.2.3") as {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};

function operationOf(name: RouteName): Operation {
  const { method, path: route } = splitName(name);
  return document.paths[route]![method.toLowerCase()]!;
}

describe("the OpenAPI document", () => {
  test("has every route once, with all its statuses", () => {
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
    const ids = new Set<string>();
    for (const name of Object.keys(ROUTES) as RouteName[]) {
      const route: Route = ROUTES[name];
      const operation = operationOf(name);
      expect(operation.summary).toBe(route.summary);
      ids.add(operation.operationId);
      for (const status of Object.keys(route.answers))
        expect([name, Object.keys(operation.responses)]).toEqual([name, expect.arrayContaining([status])]);
      for (const code of route.problems ?? []) {
        const { status } = PROBLEMS[code];
        expect(
          Object.keys(operation.responses).some((one) => Number(one) === status || Number(one) === route.inputStatus),
          `${name} ${code}`,
        ).toBe(true);
      }
      expect(operation.requestBody === undefined).toBe(route.body === undefined);
      expect(operation.security?.length === 0).toBe(route.scope === "open");
    }
    expect(ids.size).toBe(Object.keys(ROUTES).length);
  });

  test("names its parameters, and refers only to what it has", () => {
    expect(operationOf("GET /api/v1/jobs").parameters.map(({ name }) => name)).toEqual([
      "status",
      "type",
      "queue",
      "internal",
      "priority",
      "tag",
      "limit_key",
      "flow",
      "where",
      "group",
      "q",
      "from",
      "to",
      "ended_from",
      "ended_to",
      "sort",
      "limit",
      "cursor",
      "page",
      "total",
    ]);
    expect(operationOf("POST /api/v1/jobs/{id}/cancel").parameters).toMatchObject([
      { name: "id", in: "path" },
      { name: "reason", in: "query" },
    ]);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!);
    expect(new Set(references)).toEqual(
      new Set(["Job", "JobSummary", "JobPage", "Problem", "NewJob"].filter((name) => references.includes(name))),
    );
    for (const name of references) expect(document.components.schemas).toHaveProperty(name);
    expect(references).toContain("Job");
  });

  test("is served, and so is a page that needs nothing else (W12)", async () => {
    const { ask, send } = await openApi({ version: "1.2.3" });
    expect((await ask("GET /openapi.json")).body).toMatchObject({ openapi: "3.1.0", info: { title: "Millrace" } });
    const page = await send("/docs");
    const html = await page.text();
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+='; frame-ancestors 'none'/);
    expect(html).not.toMatch(/<script|https?:\/\/|<link|<img|\son\w+=/);
    for (const name of Object.keys(ROUTES)) expect(html).toContain(`<h3><code>${name}</code></h3>`);
  });
});
