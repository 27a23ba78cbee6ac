import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A wire between a store and its server that can be cut, and that can lose what the server answers. */
export class Proxy {
  readonly port: number;
  readonly #server: ReturnType<typeof createServer>;
  readonly #pairs = new Set<[Socket, Socket]>();
  #swallow: RegExp | null = null;
  #isDeaf = false;
  #swallowed: () => void = () => {};

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async to(port: number): Promise<Proxy> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new Proxy(server);
    server.on("connection", (client) => proxy.#join(client, port));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The next request that matches is carried out, and its answer never arrives: the connection breaks instead. Resolves when it did. */
  swallowAnswerTo(request: RegExp): Promise<void> {
    this.#swallow = request;
    return new Promise((resolve) => (this.#swallowed = resolve));
  }

  /** Nothing passes any more, in either direction, and nobody is told. */
  hang(): void {
    this.#isDeaf = true;
  }

  /** New connections pass again; those that hung are cut. */
  heal(): void {
    this.#isDeaf = false;
    this.cut();
  }

  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(client: Socket, port: number): void {
    const server = connect(port, "127.0.0.1");
    const pair: [Socket, Socket] = [client, server];
    let isLosing = false;
    this.#pairs.add(pair);
    client.on("data", (bytes) => {
      if (this.#isDeaf) return;
      if (this.#swallow?.test(bytes.toString("latin1")) === true) {
        this.#swallow = null;
        isLosing = true;
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (this.#isDeaf) return;
      if (!isLosing) return void client.write(bytes);
      client.destroy();
      this.#swallowed();
    });
    for (const [socket, other] of [pair, [server, client]] as const) {
      socket.on("error", () => {});
      socket.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }
}
