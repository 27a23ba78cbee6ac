/** Works one job, closes its client when it is told so by a signal, and does nothing else to end. Argument: store URL. */
import { once } from "node:events";
import { connect } from "millrace";

const client = await connect(process.argv[2], { deadline: "1s" });
client.work({ once: async () => "done" });
const told = once(process, "SIGUSR2");
const { id } = await client.enqueue("once");
console.log((await client.wait(id)).status);
// A process waits for a signal only while something else keeps it.
const alive = setInterval(() => {}, 1000);
await told;
clearInterval(alive);
await client.close({ grace: 0 });
console.log("closed");
