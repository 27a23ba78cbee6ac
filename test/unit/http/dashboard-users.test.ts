import { describe, expect, test } from "vitest";
import { dashboardUsers, type UserSettings } from "../../../src/http/dashboard-users.ts";

const SETTINGS: UserSettings = {
  environment: "production",
  host: "127.0.0.1",
  apiKey: [],
  dashboardUsername: "admin",
  dashboardPassword: null,
  dashboardViewerUsername: "viewer",
  dashboardViewerPassword: null,
};

function usersOf(settings: Partial<UserSettings>): string[] {
  return dashboardUsers({ ...SETTINGS, ...settings }).map(({ name, password, role }) => `${name}/${password} ${role}`);
}

describe("on this machine", () => {
  test.for<[Partial<UserSettings>, string[]]>([
    [{}, []],
    [{ apiKey: ["k"] }, []],
    [{ environment: "development" }, []],
    [{ environment: "development", apiKey: ["k"] }, ["admin/admin operator"]],
    [{ environment: "development", dashboardPassword: "admin" }, ["admin/admin operator"]],
    [{ dashboardPassword: "s3cret" }, ["admin/s3cret operator"]],
    [{ dashboardUsername: "ann", dashboardPassword: "s3cret" }, ["ann/s3cret operator"]],
    [{ dashboardViewerPassword: "look" }, ["viewer/look viewer"]],
    [{ dashboardPassword: "s3cret", dashboardViewerPassword: "look" }, ["admin/s3cret operator", "viewer/look viewer"]],
  ])("%j has the users %j", ([settings, users]) => {
    expect(usersOf(settings)).toEqual(users);
  });

  test("W01: the password that everybody tries is refused", () => {
    expect(() => usersOf({ dashboardPassword: "admin" })).toThrow("DASHBOARD_PASSWORD is too easy to guess");
    expect(() => usersOf({ dashboardViewerPassword: "admin" })).toThrow("DASHBOARD_VIEWER_PASSWORD is too easy to guess");
  });

  test("two users of one name are refused", () => {
    expect(() => usersOf({ dashboardPassword: "a", dashboardViewerUsername: "admin", dashboardViewerPassword: "b" })).toThrow(
      "DASHBOARD_VIEWER_USERNAME must differ from DASHBOARD_USERNAME",
    );
  });
});

describe("W01: on an address that others can reach", () => {
  const open = { host: "0.0.0.0", apiKey: ["k"] };

  test.for<[Partial<UserSettings>, string]>([
    [open, "set DASHBOARD_PASSWORD, or DASHBOARD_ENABLED=false"],
    [{ ...open, apiKey: [] }, "set API_KEY and DASHBOARD_PASSWORD, or listen on 127.0.0.1"],
    [{ ...open, environment: "development" }, "set DASHBOARD_PASSWORD"],
    [{ ...open, environment: "development", dashboardPassword: "admin" }, "too easy to guess"],
    [{ ...open, dashboardViewerPassword: "look" }, "set DASHBOARD_PASSWORD"],
  ])("%j is refused", ([settings, why]) => {
    expect(() => usersOf(settings)).toThrow(why);
  });

  test("a password of one's own is enough", () => {
    expect(usersOf({ ...open, dashboardPassword: "s3cret" })).toEqual(["admin/s3cret operator"]);
  });
});
