// A server on a store, for tests that kill it. Arguments: store, port.
import { connect } from "millrace";
import { createServer, listen } from "millrace/server";

const [store = "memory:", port = "0"] = process.argv.slice(2);
const client = await connect(store, { upkeep: true });
const { url } = await listen(createServer(client), { port: Number(port) });
console.log(`listening on ${url}`);
