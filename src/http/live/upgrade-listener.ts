import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** What a server of Node's is given for its `upgrade` event. It stands apart, because who reads our types need not have those of `ws`. */
export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;
