import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What a wire did to those who used it. A fault counts only when it took effect. */
export interface WireEffects {
  /** Connections that were broken. */
  cut: number;
  /** Connections on which something was said that never arrived. */
  stalled: number;
  /** Requests that were carried out and whose answer was lost. */
  swallowed: number;
  /** Connections that were asked for and refused. */
  refused: number;
}

/** Whether the server has said all that it says after a request was carried out for good. */
type IsWhole = (answer: Buffer) => boolean;

export interface WireOptions {
  readonly host?: string;
  /** Where an answer may come in pieces, and the first ones before all is done. */
  readonly isWhole?: IsWhole;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The server's answer so far, while it is being lost. */
  lost: Buffer | null;
  /** A request of it is to arrive after the client is gone. */
  isLate: boolean;
  /** Silent: whatever is said from now on never arrives. Stalled: something was. */
  state: "open" | "silent" | "stalled";
}

/** Which answers get lost: those to requests that match, one of so many, so often. */
interface Swallowing {
  readonly request: RegExp;
  readonly every: number;
  left: number;
  seen: number;
}

/** A wire between clients and a server that can be cut and stalled, and that can lose what the server answers. */
export class TcpProxy {
  readonly port: number;
  readonly effects: WireEffects = { cut: 0, stalled: 0, swallowed: 0, refused: 0 };
  readonly #server: Server;
  readonly #isWhole: IsWhole;
  readonly #pairs = new Set<Pair>();
  readonly #listeners = new Set<() => void>();
  #swallowing: Swallowing | null = null;
  #stallAt: RegExp | null = null;
  #isRefusing = false;
  #drop: RegExp | null = null;
  #delay: RegExp | null = null;
  #delayed: { readonly pair: Pair; readonly bytes: Buffer } | null = null;

  private constructor(server: Server, isWhole: IsWhole) {
    this.#server = server;
    this.#isWhole = isWhole;
    this.port = (server.address() as AddressInfo).port;
  }

  static async to(port: number, { host = "127.0.0.1", isWhole = () => true }: WireOptions = {}): Promise<TcpProxy> {
    // Half open: a goodbye is passed on like anything else, or lost like anything else.
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new TcpProxy(server, isWhole);
    server.on("connection", (client) => {
      if (proxy.#refuses(client)) return;
      proxy.#join(client, connect({ port, host, allowHalfOpen: true }));
    });
    return proxy;
  }

  /** How many connections clients have open. */
  get connections(): number {
    return [...this.#pairs].filter(({ client }) => !client.destroyed).length;
  }

  /** The n-th request that matches is carried out, and its answer never arrives: the connection breaks instead. Resolves when it did. */
  async swallowAnswerTo(request: RegExp, nth = 1): Promise<void> {
    const before = this.effects.swallowed;
    this.#swallowing = { request, every: nth, left: 1, seen: 0 };
    await this.#until(() => this.effects.swallowed > before);
  }

  /** The next request that matches does not arrive: the connection breaks instead. Resolves when it did. */
  async dropRequest(request: RegExp): Promise<void> {
    this.#drop = request;
    await this.#until(() => this.#drop === null);
  }

  /**
   * The next request that matches stays on its way while its connection breaks, as one does that the client's system goes on sending. Resolves,
   * when it did, with what lets it arrive after all, and that once the server has answered it.
   */
  async delayRequest(request: RegExp): Promise<() => Promise<void>> {
    this.#delay = request;
    await this.#until(() => this.#delayed !== null);
    const { pair, bytes } = this.#delayed!;
    this.#delayed = null;
    return async () => {
      pair.server.write(bytes);
      await this.#until(() => pair.lost !== null && pair.lost.length > 0 && this.#isWhole(pair.lost));
      destroy(pair);
    };
  }

  /** From now on one answer of so many to requests that match gets lost, until the wire is healed. */
  swallow(request: RegExp, every: number): void {
    this.#swallowing = { request, every, left: Infinity, seen: 0 };
  }

  /** Breaks every connection, and resets new ones as soon as they are made, as a proxy does whose server is gone. */
  refuse(): void {
    this.#isRefusing = true;
    this.cut();
  }

  /** Nothing passes any more, in either direction, and nobody is told. New connections are taken and hang. */
  stall(): void {
    this.#stallAt = /(?:)/;
  }

  /** Those that are connected now are heard no more and hear no more, and nobody is told. New connections pass. */
  silence(): void {
    for (const pair of this.#pairs) if (pair.state === "open") pair.state = "silent";
  }

  /** As soon as a request matches, it is kept back with all that follows. Resolves when one was. */
  async stallAt(request: RegExp): Promise<void> {
    const before = this.effects.stalled;
    this.#stallAt = request;
    await this.#until(() => this.effects.stalled > before);
  }

  /** All passes again on new connections; those that hung are cut, as nobody could make sense of what is left of them. */
  heal(): void {
    this.#stallAt = null;
    this.#swallowing = null;
    this.#isRefusing = false;
    for (const pair of this.#pairs) if (pair.state !== "open") destroy(pair);
  }

  /** Breaks every connection. */
  cut(): void {
    this.effects.cut += this.connections;
    for (const pair of this.#pairs) destroy(pair);
  }

  close(): void {
    for (const pair of this.#pairs) destroy(pair);
    this.#server.close();
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      look();
    });
  }

  #tell(): void {
    for (const look of this.#listeners) look();
  }

  #refuses(client: Socket): boolean {
    if (!this.#isRefusing) return false;
    this.effects.refused++;
    client.on("error", () => {}).resetAndDestroy();
    return true;
  }

  #join(client: Socket, server: Socket): void {
    const pair: Pair = { client, server, lost: null, isLate: false, state: "open" };
    this.#pairs.add(pair);
    client.on("data", (bytes) => this.#request(pair, bytes)).on("end", () => this.#pass(pair, "", () => server.end()));
    server.on("data", (bytes) => this.#answer(pair, bytes)).on("end", () => this.#pass(pair, "", () => client.end()));
    for (const socket of [client, server]) socket.setNoDelay().on("error", () => {});
    // What the server was asked in the same breath as the request whose answer is lost is carried out as well.
    client.on("close", () => (pair.isLate ? undefined : pair.lost === null ? server.destroy() : server.end()));
    server.on("close", () => {
      client.destroy();
      this.#pairs.delete(pair);
    });
  }

  #request(pair: Pair, bytes: Buffer): void {
    const text = bytes.toString("latin1");
    this.#pass(pair, text, () => {
      if (this.#drops(text)) return destroy(pair);
      if (this.#delays(pair, text, bytes)) return;
      if (pair.lost === null && this.#loses(text)) pair.lost = Buffer.alloc(0);
      pair.server.write(bytes);
    });
  }

  #answer(pair: Pair, bytes: Buffer): void {
    this.#pass(pair, "", () => {
      if (pair.lost === null) return void pair.client.write(bytes);
      pair.lost = Buffer.concat([pair.lost, bytes]);
      if (!this.#isWhole(pair.lost)) return;
      if (pair.isLate) return this.#tell();
      this.effects.swallowed++;
      pair.client.destroy();
      this.#tell();
    });
  }

  #pass(pair: Pair, request: string, go: () => void): void {
    if (pair.state === "stalled") return;
    if (pair.state === "open" && this.#stallAt?.test(request) !== true) return go();
    pair.state = "stalled";
    this.effects.stalled++;
    this.#tell();
  }

  #drops(request: string): boolean {
    if (this.#drop?.test(request) !== true) return false;
    this.#drop = null;
    this.effects.cut++;
    this.#tell();
    return true;
  }

  #delays(pair: Pair, request: string, bytes: Buffer): boolean {
    if (this.#delay?.test(request) !== true) return false;
    this.#delay = null;
    this.#delayed = { pair, bytes };
    pair.isLate = true;
    pair.lost = Buffer.alloc(0);
    pair.client.destroy();
    this.#tell();
    return true;
  }

  #loses(request: string): boolean {
    const swallowing = this.#swallowing;
    if (swallowing === null || swallowing.left === 0 || !swallowing.request.test(request)) return false;
    swallowing.seen++;
    if (swallowing.seen % swallowing.every !== 0) return false;
    swallowing.left--;
    return true;
  }
}

function destroy({ client, server }: Pair): void {
  client.destroy();
  server.destroy();
}
