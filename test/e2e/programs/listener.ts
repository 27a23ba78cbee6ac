/** Prints the first event of a store, and does nothing else. Argument: store URL. */
import { connect } from "millrace";

await using client = await connect(process.argv[2]);
const events = client.events();
console.log("listening");
for await (const { event } of events) {
  console.log(event);
  break;
}
