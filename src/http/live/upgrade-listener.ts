import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** A listener for the `upgrade` event of a Node server. In a file of its own, so that our public types do not need those of `ws`. */
export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;
