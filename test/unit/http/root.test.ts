import { expect, test } from "vitest";
import { builtPage } from "./built-page.ts";
import { openApi } from "./open-api.ts";

test.each(["", "/queue"])("GET %s/ leads to the dashboard", async (basePath) => {
  const { send, url } = await openApi({ basePath, dashboard: { folder: builtPage() } });
  const answer = await send(`${basePath}/`, { redirect: "manual" });
  expect(answer.status).toBe(302);
  expect(new URL(answer.headers.get("location")!, `${url}${basePath}/`).pathname).toBe(`${basePath}/dashboard`);
});

test("a mount path with any name in it leads to no other place", async () => {
  const { server } = await openApi({ dashboard: { folder: builtPage() } }, "fetch");
  const request = new Request("http://localhost/", { headers: { host: "localhost" } });
  const answer = await server.fetch(request, { wholePath: "/https:evil.test" });
  expect(new URL(answer.headers.get("location")!, "http://localhost/https:evil.test").href).toBe(
    "http://localhost/https:evil.test/dashboard",
  );
});

test("without a dashboard there is nothing to lead to", async () => {
  const { send } = await openApi();
  expect((await send("/")).status).toBe(404);
});
