/** A worker that stops cleanly at SIGTERM: running jobs finish, and unfinished ones are released at no cost. */
import { connect, stopOnSignals } from "millrace";

const client = await connect("memory:");
client.work({
  slow: async (_payload, ctx) => {
    console.log("working, and a SIGTERM arrives");
    process.kill(process.pid, "SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 100));
    console.log("finished all the same", ctx.job.id.length);
  },
});
stopOnSignals(client, { grace: "10s" });
await client.enqueue("slow");
