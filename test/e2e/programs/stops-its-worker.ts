/** Works one job, stops its worker, and leaves the client open. Argument: store URL. */
import { connect } from "millrace";

const client = await connect(process.argv[2]);
const worker = client.work({ once: async () => "done" });
const { id } = await client.enqueue("once");
console.log((await client.wait(id)).status);
await worker.stop();
