/** Mutes and unmutes error groups. */
import { createElement } from "react";
import { act } from "./act.ts";
import { client, type ErrorGroup } from "./api.ts";
import { ask } from "./ask.ts";
import { MuteQuestion, type MuteTime } from "./mute-question.tsx";

/** Asks for how long and why, then mutes the group. */
export async function muteGroup({ group, name }: ErrorGroup): Promise<void> {
  let chosen: { time: MuteTime; reason: string } = { time: "24h", reason: "" };
  const body = createElement(MuteQuestion, { first: chosen.time, onChange: (changed) => (chosen = changed) });
  if (!(await ask({ title: `Mute ${name}?`, body, yes: "Mute" }))) return;
  const { time, reason } = chosen;
  await act(
    () => client.dead.mute(group, { for: time === "" ? undefined : time, reason: reason.trim() === "" ? undefined : reason.trim() }),
    () => `${name} is muted`,
  );
}

export async function unmuteGroup({ group, name }: ErrorGroup): Promise<void> {
  await act(
    () => client.dead.unmute(group),
    () => `${name} is not muted any more`,
  );
}
