import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** A listener for the `upgrade` event of a Node server. In a file of its own, so that our public types do not need those of `ws`. */
export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** A `node:http` server, also that of a framework. */
export interface UpgradeSource {
  on(event: "upgrade", listener: UpgradeListener): unknown;
  off(event: "upgrade", listener: UpgradeListener): unknown;
  listenerCount(event: "upgrade"): number;
}
