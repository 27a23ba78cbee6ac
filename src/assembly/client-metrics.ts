/** METRICS OF A LIBRARY CLIENT. Counting begins with the first call: who asks for no metrics pays nothing for them. */
import type { PlainClient } from "../client/client.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { OnContended } from "../store/open-store.ts";

export class ClientMetrics {
  #opening: Promise<Metrics> | null = null;
  #opened: Metrics | null = null;
  #isStopped = false;

  /** Text for Prometheus. */
  async text(client: PlainClient): Promise<string> {
    this.#opening ??= this.#open(client);
    return (await this.#opening).text();
  }

  /** The client has closed. */
  stop(): void {
    this.#isStopped = true;
    this.#opened?.stop();
  }

  /** Counts troubles, and passes them on. */
  countTroubles(onTrouble: OnTrouble): OnTrouble {
    return (trouble) => {
      this.#opened?.onTrouble(trouble);
      onTrouble(trouble);
    };
  }

  readonly onContended: OnContended = (reason) => this.#opened?.onContended(reason);

  async #open(client: PlainClient): Promise<Metrics> {
    const [{ Metrics }, { watchFromNowOn }, { versionIfKnown }] = await Promise.all([
      import("../observe/metrics.ts"),
      import("../observe/lease-watch.ts"),
      import("../cli/version.ts"),
    ]);
    const metrics = new Metrics({ source: client, version: versionIfKnown(), answersRequests: false });
    watchFromNowOn(client.leases, [metrics.leases]);
    this.#opened = metrics;
    if (this.#isStopped) metrics.stop();
    return metrics;
  }
}
