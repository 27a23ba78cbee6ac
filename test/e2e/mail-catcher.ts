import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

/** A message as it was handed in. */
export interface CaughtMail {
  readonly to: readonly string[];
  /** Headers and text. */
  readonly text: string;
}

/** A mail server on loopback that keeps what it gets and sends nothing on. */
export interface MailCatcher {
  readonly url: string;
  readonly mails: readonly CaughtMail[];
  close(): Promise<void>;
}

/** Starts one. Mail to `nobody` is refused for good, as a server does for a mailbox that it does not have. */
export async function catchMail(): Promise<MailCatcher> {
  const mails: CaughtMail[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("close", () => open.delete(socket)));
    void converse(socket, mails);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function converse(socket: Socket, mails: CaughtMail[]): Promise<void> {
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  let to: string[] = [];
  let text: string[] | null = null;
  say("220 catcher");
  for await (const line of createInterface({ input: socket })) {
    if (text !== null) {
      if (line !== ".") text.push(line);
      else {
        mails.push({ to, text: text.join("\n") });
        [to, text] = [[], null];
        say("250 kept");
      }
    } else if (/^RCPT TO:<nobody@/i.test(line)) say("550 there is no such mailbox");
    else if (/^RCPT/i.test(line)) {
      to.push(/<(.*)>/.exec(line)?.[1] ?? "");
      say("250 ok");
    } else if (/^DATA/i.test(line)) {
      text = [];
      say("354 go on");
    } else if (/^QUIT/i.test(line)) {
      say("221 bye");
      socket.end();
    } else say("250 ok");
  }
}
