/** A server and a reader of its events, until the parent disconnects: `event-reader.ts TREE URL`. */
import { loadServer, loadTree } from "../tree.ts";

const [folder, url] = process.argv.slice(2) as [string, string];
const { createServer, listen } = await loadServer(folder);
const client = await (await loadTree(folder)).connect(url);
const server = createServer(client);
const port = await listen(server, { port: 0 });
const { body } = await fetch(`${port.url}/api/v1/events`);
const reading = body!.pipeTo(new WritableStream());

process.once("disconnect", () => void end());
process.send!("ready");

async function end(): Promise<void> {
  await server.drain();
  await reading;
  await port.close();
  await client.close();
}
