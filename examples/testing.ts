/** How to test your jobs: in memory, with a clock that you control. Nothing waits for real time. */
import assert from "node:assert/strict";
import { createTestClient } from "millrace/testing";

const client = await createTestClient();

// The code under test enqueues …
await client.enqueue("welcome:mail", { to: "ann@example.com" }, { delay: "1h" });
client.assertEnqueued({ type: "welcome:mail", payload: { to: "ann@example.com" } });

// … and its handlers run when they are due.
const sent: string[] = [];
const handlers = { "welcome:mail": async ({ to }: { to: string }) => void sent.push(to) };
await client.drain(handlers);
assert.deepEqual(sent, []);
await client.clock.advance("1h");
const summary = await client.drain(handlers);
assert.deepEqual(sent, ["ann@example.com"]);
console.log("completed:", summary.completed);

await client.close();
