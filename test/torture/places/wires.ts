import { setTimeout as sleep } from "node:timers/promises";
import { CRASH } from "../../history/line.ts";
import { TcpProxy, type WireOptions } from "../../servers/tcp-proxy.ts";
import { type Deed, noted, type Stage } from "../deed.ts";
import { LEASE_MS } from "../jobs.ts";
import { victimOf } from "../process-deeds.ts";
import { enqueueBacklog } from "../strangers.ts";

/** So long is waited for a process to come into the middle of a transaction of its own, before it vanishes wherever it is. */
const CAUGHT_WITHIN_MS = 1_500;

/** The ways of all processes to one server. */
export class Wires {
  readonly deeds: readonly Deed[];
  readonly #port: number;
  readonly #options: WireOptions;
  readonly #wires = new Map<string, TcpProxy>();

  /** `request`: what a request looks like that reads or changes jobs. `commit`: what ends a transaction. */
  constructor(port: number, request: RegExp, commit: RegExp, options: WireOptions = {}) {
    this.#port = port;
    this.#options = options;
    this.deeds = [
      this.#harm("connections cut", "cut", [0, 0], (wire) => wire.cut()),
      this.#harm("network stalled", "stalled", [300, 2 * LEASE_MS], (wire) => wire.stall()),
      this.#harm("connections silenced", "stalled", [300, 2 * LEASE_MS], (wire) => wire.silence()),
      this.#harm("answers lost", "swallowed", [500, 1_500], (wire, { random }) => wire.swallow(request, random.int(2, 8))),
      { what: "machine vanished", isLong: true, attempt: (stage) => this.#vanish(stage, commit) },
    ];
  }

  /** A wire more, and the URL that leads over it. */
  async lay(process: string, url: string): Promise<string> {
    const wire = await TcpProxy.to(this.#port, this.#options);
    this.#wires.set(process, wire);
    const wired = new URL(url);
    wired.port = String(wire.port);
    return wired.href;
  }

  heal(): void {
    for (const wire of this.#wires.values()) wire.heal();
  }

  close(): void {
    for (const wire of this.#wires.values()) wire.close();
  }

  /** To one process, or to all of them. */
  #harm(
    what: string,
    effect: keyof TcpProxy["effects"],
    [least, most]: readonly [number, number],
    harm: (wire: TcpProxy, stage: Stage) => void,
  ): Deed {
    const attempt: Deed["attempt"] = (stage) => {
      const { random } = stage;
      const who = random.chance(0.5) ? null : random.pick([...this.#wires.keys()]);
      const wires = who === null ? [...this.#wires.values()] : [this.#wires.get(who)!];
      const count = (): number => wires.reduce((sum, wire) => sum + wire.effects[effect], 0);
      return noted(stage, { what, who }, async () => {
        const before = count();
        for (const wire of wires) harm(wire, stage);
        await sleep(random.int(least, most));
        for (const wire of wires) wire.heal();
        return count() > before;
      });
    };
    return { what, attempt };
  }

  /**
   * As when a machine loses its power: the process says nothing more, and nobody tells the server, which keeps what it holds for it. If it can
   * be, that is in the middle of a transaction.
   */
  async #vanish(stage: Stage, commit: RegExp): Promise<boolean> {
    const victim = victimOf(stage, "worker");
    if (victim === null) return false;
    const wire = this.#wires.get(victim.name)!;
    const { by } = victim;
    if ((await enqueueBacklog(stage)) === null) return false;
    return noted(stage, { what: "machine vanished", who: by }, async () => {
      const over = new AbortController();
      await Promise.race([wire.stallAt(commit), sleep(CAUGHT_WITHIN_MS, null, { signal: over.signal }).catch(() => {})]);
      over.abort();
      wire.stall();
      const isConnected = wire.connections > 0;
      const isGone = await victim.vanish(stage.random.int(6_000, 9_000));
      if (isGone) stage.recorder.see("fault", { what: CRASH, who: by });
      wire.heal();
      victim.start();
      return isConnected && isGone;
    });
  }
}
