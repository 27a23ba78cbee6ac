/** Mutes and unmutes error groups. */
import { createElement } from "react";
import { act } from "./act.ts";
import { client, type ErrorGroup } from "./api.ts";
import { ask } from "./ask.ts";
import { MuteQuestion, type MuteTime } from "./mute-question.tsx";

/** Asks for how long and why, then mutes the group. */
export async function muteGroup({ group, name }: ErrorGroup): Promise<void> {
  let time: MuteTime = "24h";
  const body = createElement(MuteQuestion, { first: time, onChange: (chosen) => (time = chosen) });
  const options = await ask({ title: `Mute ${name}?`, body, yes: "Mute" });
  if (options === null) return;
  await act(
    () => client.dead.mute(group, { ...options, for: time === "" ? undefined : time }),
    () => `${name} is muted`,
  );
}

export async function unmuteGroup({ group, name }: ErrorGroup): Promise<void> {
  await act(
    () => client.dead.unmute(group),
    () => `${name} is not muted any more`,
  );
}
