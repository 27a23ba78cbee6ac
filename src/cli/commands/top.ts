import { durationWithin } from "../../core/duration.ts";
import { sleep, systemClock } from "../../lib/clock.ts";
import { defineCommand, time, toggle } from "../command.ts";
import { CommandRefused, EXIT, type ExitCode } from "../exit-codes.ts";
import type { Session } from "../session.ts";
import { frameOf } from "../top/frame.ts";
import { type FrameStyle, LiveView } from "../top/live.ts";
import { toSnapshotJson, Watch } from "../top/snapshot.ts";

const DEFAULT_INTERVAL_MS = 1000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 3_600_000;

export const top = defineCommand({
  about: "Shows a live view of queues, workers, throughput and errors. Press q to quit, p to pause the view, any other key to refresh it.",
  examples: ["millrace top", "millrace top --interval 5s", "millrace top --once --json"],
  options: {
    interval: time("how often to refresh (default: 1s)"),
    once: toggle("print one snapshot and exit"),
  },
  async run({ interval, once }, session) {
    const intervalMs = durationWithin(interval ?? DEFAULT_INTERVAL_MS, SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS);
    if (intervalMs === undefined) throw new CommandRefused(`--interval must be a time from 100ms to 1h; got "${interval}"`);
    const { output, terminal } = session;
    const hasTerminal = terminal.stdout.isTTY === true && terminal.stdin.isTTY === true;
    if (!once && !output.json && !hasTerminal)
      throw new CommandRefused("top needs a terminal: use --once for one snapshot, or --json for a line per snapshot");
    const style = await styleOf(session);
    return session.withClient(async (client) => {
      const watch = new Watch(client);
      await watch.start();
      if (once) return printOnce(watch, style, session);
      return output.json ? stream(watch, intervalMs, session) : new LiveView(watch, style, terminal).run(intervalMs);
    });
  },
});

async function styleOf(session: Session): Promise<FrameStyle> {
  const { output } = session;
  const store = await session.storeName();
  return { store, unicode: output.unicode, mark: output.mark, paint: (text, style) => output.paint(text, style) };
}

async function printOnce(watch: Watch, style: FrameStyle, { output }: Session): Promise<ExitCode> {
  const snapshot = await watch.look(Date.now());
  if (output.json) output.value(toSnapshotJson(snapshot));
  else output.painted(frameOf(snapshot, { ...style, width: output.width(), height: Infinity, note: "" }));
  return EXIT.ok;
}

/** Prints a line per snapshot until Ctrl-C. */
async function stream(watch: Watch, intervalMs: number, session: Session): Promise<ExitCode> {
  const signal = session.interrupted();
  const listening = watch.listen(signal);
  while (!signal.aborted) {
    session.output.value(toSnapshotJson(await watch.look(Date.now())));
    await sleep(systemClock, intervalMs, signal);
  }
  await listening;
  return EXIT.interrupted;
}
