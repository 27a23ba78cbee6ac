/** Begins a bulk operation and dies in the middle of it, as a machine does. Argument: store URL. Prints the operation's id. */
import { setImmediate } from "node:timers/promises";
import { connect } from "millrace";

const client = await connect(process.argv[2]);
const { id } = await client.bulk.start({ action: "cancel", filter: { type: "many" } });
process.stdout.write(`${id}\n`);
for (;;) {
  // A look at a file is done at once: the operation, too, must get its turn.
  await setImmediate();
  const { processed, status } = (await client.bulk.get(id))!;
  if (processed > 0 || status !== "running") process.kill(process.pid, "SIGKILL");
}
