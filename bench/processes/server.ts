/** A server and a reader of its events, until the parent disconnects: `server.ts URL`. */
import { connect } from "millrace";
import { createServer, listen } from "millrace/server";
import { say } from "./message.ts";

const [url] = process.argv.slice(2) as [string];
const client = await connect(url);
const server = createServer(client);
const port = await listen(server, { port: 0 });
const { body } = await fetch(`${port.url}/api/v1/events`);
const reading = body!.pipeTo(new WritableStream());

process.once("disconnect", () => void end());
say({ kind: "ready" });

async function end(): Promise<void> {
  await server.drain();
  await reading;
  await port.close();
  await client.close();
}
