/** Our server with an API key, as in `millrace server`: `millrace-server.ts TREE URL KEY`. */
import { loadServer, loadTree } from "../tree.ts";
import { tellAsServer } from "./server-message.ts";

const [folder, url, key] = process.argv.slice(2) as [string, string, string];
const { createServer, listen } = await loadServer(folder);
const client = await (await loadTree(folder)).connect(url, { upkeep: true });
const { port } = await listen(createServer(client, { keys: [key] }), { port: 0 });
tellAsServer(port);
