import { ABOVE_0, ANYTHING, FUNCTION, isObject, OBJECT, type OptionRule, YES_OR_NO } from "../core/option-rules.ts";
import { readInteger } from "../core/read-fields.ts";
import { ROLES } from "./contract/dashboard.ts";
import type { RateLimit, ServerLimits } from "./limits.ts";
import type { DashboardOptions, ServerOptions } from "./server.ts";
import type { DashboardUser } from "./sessions.ts";

const MOST_PROXIES = 100;
/** Extensions of browsers have schemes of their own. */
const FOREIGN_ORIGIN = /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[^/?#\sA-Z]+$/;

const names = (mustBe: string): OptionRule => ({
  mustBe,
  allows: (given) => Array.isArray(given) && given.every((name) => typeof name === "string"),
});

/** The parts of a rate limit are both needed; of the other options, what is left out has its default. */
const RATE: Readonly<Record<keyof RateLimit, OptionRule>> = {
  requests: ABOVE_0,
  perMs: { mustBe: "a number of milliseconds above 0", allows: (given) => Number.isFinite(given) && Number(given) > 0 },
};

const DASHBOARD: Readonly<Record<keyof DashboardOptions, OptionRule>> = {
  users: {
    mustBe: `a list of users, each with a name, a password and a role (${ROLES.join(" or ")})`,
    allows: (given) => Array.isArray(given) && given.every(isUser),
    isSecret: true,
  },
  folder: { mustBe: "a path", allows: (given) => typeof given === "string" },
};

const LIMITS: Readonly<Record<keyof ServerLimits, OptionRule>> = {
  requests: ABOVE_0,
  waiting: ABOVE_0,
  bytes: ABOVE_0,
  streams: ABOVE_0,
  streamsPerCaller: ABOVE_0,
};

/** What each option of a server must be, as far as no other code checks it. */
export const SERVER_OPTION_RULES: Readonly<Record<keyof ServerOptions, OptionRule>> = {
  keys: { mustBe: "a list of keys", allows: Array.isArray, isSecret: true },
  auth: FUNCTION,
  open: YES_OR_NO,
  basePath: { mustBe: "a path such as /queue", allows: (given) => typeof given === "string" },
  hosts: names("a list of host names"),
  origins: {
    mustBe: "a list of origins as browsers send them, such as https://admin.example.com: without a path, a wildcard or the usual port",
    allows: (given) => Array.isArray(given) && given.every(isOrigin),
  },
  rateLimit: { mustBe: "null, or an object with requests and perMs, both above 0", allows: isRateOrNull, fields: RATE },
  limiter: OBJECT,
  signalSecret: { ...ANYTHING, isSecret: true },
  trustedProxies: {
    mustBe: `a whole number from 0 to ${MOST_PROXIES}`,
    allows: (given) => readInteger(given, 0, MOST_PROXIES) !== undefined,
  },
  dashboard: {
    mustBe: "false, or an object with users or folder",
    allows: (given) => given === false || isObject(given),
    isSecret: true,
    fields: DASHBOARD,
  },
  limits: { ...OBJECT, fields: LIMITS },
  onRequest: FUNCTION,
  isHealthy: FUNCTION,
  types: names("a list of types"),
  figures: OBJECT,
  onTrouble: FUNCTION,
  version: { mustBe: "a text", allows: (given) => typeof given === "string" },
  clock: OBJECT,
};

function isRateOrNull(given: unknown): boolean {
  if (given === null) return true;
  return isObject(given) && Object.keys(RATE).every((name) => (given as Record<string, unknown>)[name] !== undefined);
}

function isUser(given: unknown): boolean {
  if (!isObject(given)) return false;
  const { name, password, role } = given as Partial<Record<keyof DashboardUser, unknown>>;
  return [name, password].every((text) => typeof text === "string" && text !== "") && (ROLES as readonly unknown[]).includes(role);
}

/** As browsers send it; any other would never be equal. */
function isOrigin(given: unknown): boolean {
  if (typeof given !== "string") return false;
  return FOREIGN_ORIGIN.test(given) || (/^https?:[^*]+$/.test(given) && URL.parse(given)?.origin === given);
}
