/**
 * WHICH ADDRESSES REQUESTS MAY GO TO: only those routed on the public internet, and those that the operator allows.
 *
 * The lists follow IANA's registries of special-purpose addresses. For IPv4 they list what is closed. For IPv6 only 2000::/3 is in general use,
 * so everything else is closed without a list.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { invalid } from "../core/errors.ts";

const CLOSED_V4 = [
  ["0.0.0.0/8", "an unspecified address"],
  ["10.0.0.0/8", "a private address"],
  ["100.64.0.0/10", "a shared address of a carrier (CGNAT)"],
  ["127.0.0.0/8", "a loopback address"],
  ["169.254.0.0/16", "a link-local address, as of cloud metadata services"],
  ["172.16.0.0/12", "a private address"],
  ["192.0.0.0/24", "an address reserved for protocols"],
  ["192.0.2.0/24", "an address for documentation"],
  ["192.88.99.0/24", "a 6to4 relay"],
  ["192.168.0.0/16", "a private address"],
  ["198.18.0.0/15", "an address for benchmarks"],
  ["198.51.100.0/24", "an address for documentation"],
  ["203.0.113.0/24", "an address for documentation"],
  ["224.0.0.0/4", "a multicast address"],
  ["240.0.0.0/4", "a reserved address"],
] as const;

const OPEN_V6 = "2000::/3";

const CLOSED_V6 = [
  ["::1/128", "a loopback address"],
  ["::/128", "an unspecified address"],
  ["fc00::/7", "a private address (unique local)"],
  ["fe80::/10", "a link-local address"],
  ["ff00::/8", "a multicast address"],
  ["2001::/23", "an address reserved for protocols"],
  ["2001:db8::/32", "an address for documentation"],
  ["3fff::/20", "an address for documentation"],
] as const;

const EMBEDDED = "an IPv4 address inside an IPv6 one";

interface NamedRange {
  readonly name: string;
  readonly list: BlockList;
}

const closedV4 = CLOSED_V4.map(namedRange);
const closedV6 = CLOSED_V6.map(namedRange);
const openV6 = new BlockList();
addRange(openV6, readRange(OPEN_V6));

/** Says why nothing may be sent to an address. */
export class AddressRules {
  readonly #allowV4 = new BlockList();
  readonly #allowV6 = new BlockList();

  /** `allow`: special addresses and ranges (`10.0.0.0/8`, `fd00::/8`, `127.0.0.1`) that are open. */
  constructor(allow: readonly string[] = [], field = "allow") {
    for (const text of allow) {
      const range = readRange(text, field);
      addRange(range.family === "ipv4" ? this.#allowV4 : this.#allowV6, range);
    }
  }

  /** The kind of closed address; null if it is open. */
  refusal(address: string): string | null {
    if (isIPv4(address)) return this.#refusalV4(address);
    // A zone (fe80::1%eth0) is valid on one machine only, so nothing is ever sent to such an address.
    if (!isIPv6(address) || address.includes("%")) return "something that is not an address";
    return this.#refusalV6(address);
  }

  #refusalV4(address: string): string | null {
    if (this.#allowV4.check(address, "ipv4")) return null;
    return nameOf(closedV4, address, "ipv4");
  }

  #refusalV6(address: string): string | null {
    const isAllowed = this.#allowV6.check(address, "ipv6");
    const groups = groupsOf(address);
    const embedded = embeddedV4(groups);
    if (embedded !== null) {
      // The connection goes to the inner address. For a mapped address only that decides; the prefix of a translator must be allowed, too.
      if (isMapped(groups)) return this.#allowV4.check(embedded, "ipv4") ? null : EMBEDDED;
      return isAllowed ? this.#refusalV4(embedded) : EMBEDDED;
    }
    if (isAllowed) return null;
    const name = nameOf(closedV6, address, "ipv6");
    return name ?? (openV6.check(address, "ipv6") ? null : "a reserved address");
  }
}

function nameOf(ranges: readonly NamedRange[], address: string, family: "ipv4" | "ipv6"): string | null {
  return ranges.find(({ list }) => list.check(address, family))?.name ?? null;
}

function namedRange([range, name]: readonly [string, string]): NamedRange {
  const list = new BlockList();
  addRange(list, readRange(range));
  return { name, list };
}

interface Range {
  readonly address: string;
  readonly length: number;
  readonly family: "ipv4" | "ipv6";
}

function addRange(list: BlockList, { address, length, family }: Range): void {
  list.addSubnet(address, length, family);
}

/** Reads `10.0.0.0/8`, or a single address. */
function readRange(text: unknown, field = "allow"): Range {
  const [address = "", prefix, ...rest] = typeof text === "string" ? text.trim().split("/") : [];
  const bits = isIPv4(address) ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (isIP(address) === 0 || address.includes("%") || rest.length > 0 || !(length <= bits)) {
    throw invalid(field, "addresses or ranges, such as 10.0.0.0/8, 192.168.1.7 or fd00::/8", text);
  }
  return { address, length, family: bits === 32 ? "ipv4" : "ipv6" };
}

// ── IPv4 inside IPv6 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function groupsOf(address: string): number[] {
  // The URL parser writes any form as plain hexadecimal groups.
  const { hostname } = new URL(`http://[${address}]/`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const before = parseGroups(head);
  if (tail === undefined) return before;
  const after = parseGroups(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function parseGroups(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** The IPv4 address that packets to this IPv6 address may reach, through the system, a translator or a tunnel. */
function embeddedV4(groups: readonly number[]): string | null {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if (a === 0x2002) return dotted(b, c); // 6to4
  if (a === 0x2001 && b === 0) return dotted(g ^ 0xffff, h ^ 0xffff); // Teredo
  if (a === 0x64 && b === 0xff9b) return dotted(g, h); // NAT64
  if (a !== 0 || b !== 0 || c !== 0 || d !== 0) return null;
  if (isMapped(groups) || (e === 0xffff && f === 0)) return dotted(g, h); // mapped, translated
  // The old "compatible" form. :: and ::1 look like it, but are not.
  return e === 0 && f === 0 && (g !== 0 || h > 1) ? dotted(g, h) : null;
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}
