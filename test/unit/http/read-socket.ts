import { once } from "node:events";
import { onTestFinished } from "vitest";
import type { WebSocket } from "ws";

/** A message as it is told over a WebSocket. */
export type Message = Readonly<Record<string, unknown>> & { readonly event: string; readonly id: string };

/** A WebSocket that a test reads as far as it likes. Ended with the test. */
export class SocketReading {
  readonly socket: WebSocket;
  readonly #messages: Message[] = [];
  #wake: () => void = () => {};
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (text: Buffer) => {
      this.#messages.push(JSON.parse(text.toString()) as Message);
      this.#wake();
    });
    this.closed = once(socket, "close").then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
    onTestFinished(() => socket.terminate());
  }

  async until(isLast: (message: Message) => boolean): Promise<Message[]> {
    for (;;) {
      const last = this.#messages.findIndex(isLast);
      if (last !== -1) return this.#messages.splice(0, last + 1);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
