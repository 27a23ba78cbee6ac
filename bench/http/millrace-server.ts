/** Our server with an API key, as in `millrace server`: `millrace-server.ts URL KEY`. */
import { connect } from "millrace";
import { createServer, listen } from "millrace/server";
import { tellAsServer } from "./server-message.ts";

const [url, key] = process.argv.slice(2) as [string, string];
const client = await connect(url, { upkeep: true });
const { port } = await listen(createServer(client, { keys: [key] }), { port: 0 });
tellAsServer(port);
