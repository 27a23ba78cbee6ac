import { setTimeout as sleep } from "node:timers/promises";
import { TcpProxy, type WireOptions } from "../../servers/tcp-proxy.ts";
import type { Random } from "../../simulation/random.ts";
import type { Deed } from "../deed.ts";
import { LEASE_MS } from "../jobs.ts";

/** The ways of all processes to one server. */
export class Wires {
  readonly deeds: readonly Deed[];
  readonly #port: number;
  readonly #options: WireOptions;
  readonly #wires: TcpProxy[] = [];

  /** `request`: what a request looks like that reads or changes jobs. */
  constructor(port: number, request: RegExp, options: WireOptions = {}) {
    this.#port = port;
    this.#options = options;
    this.deeds = [
      { what: "connections cut", attempt: ({ random }) => this.#harm(random, "cut", 0, (wire) => wire.cut()) },
      {
        what: "network stalled",
        attempt: ({ random }) => this.#harm(random, "stalled", random.int(300, 2 * LEASE_MS), (wire) => wire.stall()),
      },
      {
        what: "connections silenced",
        attempt: ({ random }) => this.#harm(random, "stalled", random.int(300, 2 * LEASE_MS), (wire) => wire.silence()),
      },
      {
        what: "answers lost",
        attempt: ({ random }) => this.#harm(random, "swallowed", random.int(500, 1_500), (wire) => wire.swallow(request, random.int(2, 8))),
      },
    ];
  }

  /** A wire more, and the URL that leads over it. */
  async lay(url: string): Promise<string> {
    const wire = await TcpProxy.to(this.#port, this.#options);
    this.#wires.push(wire);
    const wired = new URL(url);
    wired.port = String(wire.port);
    return wired.href;
  }

  heal(): void {
    for (const wire of this.#wires) wire.heal();
  }

  close(): void {
    for (const wire of this.#wires) wire.close();
  }

  /** To one process, or to all of them. */
  async #harm(random: Random, effect: keyof TcpProxy["effects"], ms: number, harm: (wire: TcpProxy) => void): Promise<boolean> {
    const wires = random.chance(0.5) ? this.#wires : [random.pick(this.#wires)];
    const count = (): number => wires.reduce((sum, wire) => sum + wire.effects[effect], 0);
    const before = count();
    for (const wire of wires) harm(wire);
    await sleep(ms);
    for (const wire of wires) wire.heal();
    return count() > before;
  }
}
