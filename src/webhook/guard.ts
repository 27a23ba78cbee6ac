/**
 * THE GUARD AGAINST REQUEST FORGERY (SSRF). Producers choose URLs, and this process can reach what they cannot: its own loopback, the private
 * network, the metadata of its cloud. So a request starts only after every address of the host was checked, and the connection goes to a checked
 * address: a name that resolves differently a moment later (DNS rebinding) gains nothing.
 */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { Discard } from "../core/control-errors.ts";
import { MillraceError, preview } from "../core/errors.ts";
import { AddressRules } from "./address-rules.ts";
import { type ResolveHost, resolveHost } from "./resolve-host.ts";

/** Nothing was sent, and nothing will be: the job becomes a dead letter. */
export class Blocked extends Discard {
  override readonly name = "Blocked";
}

export interface GuardOptions {
  /** Private addresses and ranges that are open: `10.0.0.0/8`, `fd00::/8`, `127.0.0.1`. */
  readonly allow?: readonly string[] | undefined;
  /** How hosts are resolved. Default: by the system. */
  readonly resolve?: ResolveHost | undefined;
}

const MAX_URL_LENGTH = 8192;
/** Below this only the ports of HTTP are open: mail, shells and file shares could take a request for commands. */
const FIRST_FREE_PORT = 1024;
const HTTP_PORTS = [80, 443];
/** Services above it that must not get HTTP either, even if an operator allows their network. */
const CLOSED_PORTS: readonly number[] = [
  1433, // SQL Server
  1521, // Oracle
  2049, // NFS
  2375, // Docker
  2376,
  2379, // etcd
  2380,
  3306, // MySQL
  3389, // remote desktop
  5432, // PostgreSQL
  5672, // AMQP
  5900, // VNC
  5985, // Windows remote management
  5986,
  6000, // X11
  6379, // Redis
  6380,
  6443, // Kubernetes
  6665, // IRC
  6666,
  6667,
  6668,
  6669,
  6697,
  9042, // Cassandra
  9092, // Kafka
  10250, // the kubelet
  10255,
  11211, // memcached
  26379, // Redis Sentinel
  27017, // MongoDB
];

export class Guard {
  readonly #rules: AddressRules;
  readonly #resolve: ResolveHost;

  /** Throws `invalid_input` if `allow` is not a list of ranges. */
  constructor({ allow = [], resolve = resolveHost }: GuardOptions = {}) {
    this.#rules = new AddressRules(allow);
    this.#resolve = resolve;
  }

  /** Checks what needs no lookup: the format, the port, and the address if the host is one or is localhost. Throws Blocked. */
  readUrl(text: string): URL {
    const url = text.length <= MAX_URL_LENGTH ? URL.parse(text) : null;
    if (url === null) throw new Blocked(`the URL is not valid, or longer than ${MAX_URL_LENGTH} characters`);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new Blocked(`the URL must begin with http:// or https://, not with ${preview(url.protocol)}`);
    }
    if (url.username !== "" || url.password !== "")
      throw new Blocked("the URL contains a user name or password: send it in a header instead");
    refusePort(url);
    const literal = literalOf(url);
    if (literal !== null) this.#check(literal, literal);
    if (isLocalhost(url)) this.#checkLocalhost(url);
    return url;
  }

  /** The same check when a job is enqueued: throws `invalid_input`, because its request would be refused much later. */
  refuseUrl(url: string, field: string): void {
    try {
      this.readUrl(url);
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      throw new MillraceError("invalid_input", error.message.replace(/^the URL/, field), { field, cause: error });
    }
  }

  /** All addresses of the host. Throws Blocked unless all of them are open. */
  async addressesOf(url: URL, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const addresses = await this.#addressesOf(url, signal);
    if (addresses.length === 0) throw new Error(`${url.hostname} has no address`);
    for (const { address } of addresses) this.#check(address, url.hostname);
    return addresses;
  }

  async #addressesOf(url: URL, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const literal = literalOf(url);
    if (literal !== null) return [{ address: literal, family: isIP(literal) }];
    if (isLocalhost(url)) return LOOPBACK;
    return this.#resolve(url.hostname, signal);
  }

  #check(address: string, host: string): void {
    const refusal = this.#rules.refusal(address);
    if (refusal === null) return;
    const where = address === host ? address : `${host} is ${address}`;
    throw new Blocked(`the URL points to ${refusal} (${where}). To allow it, set WEBHOOK_ALLOW (in code: webhookAllow)`);
  }

  /** Checks both: the machine decides which one a connection uses. */
  #checkLocalhost({ hostname }: URL): void {
    const refusal = LOOPBACK.map(({ address }) => this.#rules.refusal(address)).find((each) => each !== null);
    if (refusal === undefined) return;
    throw new Blocked(
      `the URL points to ${refusal} (${hostname} is 127.0.0.1, and may also be ::1). To allow it, set WEBHOOK_ALLOW to 127.0.0.1,::1 (in code: webhookAllow)`,
    );
  }
}

/** localhost is this machine, whatever a name server says (RFC 6761). */
function isLocalhost({ hostname }: URL): boolean {
  return /(^|\.)localhost\.?$/.test(hostname);
}

const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

function refusePort({ port, protocol }: URL): void {
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  if (HTTP_PORTS.includes(number) || (number >= FIRST_FREE_PORT && !CLOSED_PORTS.includes(number))) return;
  throw new Blocked(
    `the URL has port ${number}, which is not used for HTTP. Use 80, 443, or a port from 1024 on that no other well-known service has`,
  );
}

/** The address, if the host is one. The URL parser has already turned 127.1, 0x7f000001 and 2130706433 into 127.0.0.1. */
function literalOf({ hostname }: URL): string | null {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}
