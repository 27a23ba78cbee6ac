/** `errors`: mutes error groups. `dead-groups` lists them. */
import type { Mute } from "../../core/mute.ts";
import { toMuteWire } from "../../http/wire/bulk.ts";
import { type CommandGroup, defineVerb, reason, required, time } from "../command.ts";
import { age, moment, NOTHING } from "../figures.ts";
import type { Column } from "../table.ts";

const group = required("group", "the id of an error group, from dead-groups");

export const errors: CommandGroup = {
  about:
    "Mutes error groups: their jobs stay dead letters, but do not count as something that needs attention. Use dead-groups to list the groups.",
  examples: ["millrace errors mute 3f9c2a71b0de --for 24h", "millrace errors unmute 3f9c2a71b0de", "millrace errors"],
  commands: {
    list: defineVerb("Show muted error groups", {
      about: "Shows all muted error groups, the latest first, whether they have jobs or not.",
      examples: ["millrace errors list", "millrace errors list --json | jq -r .group"],
      async run(_input, session) {
        const mutes = await session.withClient((client) => client.dead.mutes());
        session.output.items(mutes, toMuteWire, columns(Date.now()), "no error group is muted");
      },
    }),
    mute: defineVerb("Mute an error group", {
      about: "Mutes an error group, for a time or until you unmute it. Muting it again replaces the earlier mute.",
      examples: ["millrace errors mute 3f9c2a71b0de --for 24h --reason 'fixed in 1.4.1'", "millrace errors mute 3f9c2a71b0de"],
      arguments: { group },
      options: { for: time("for how long, from 1s to 365d (default: until you unmute it)"), reason },
      async run(input, session) {
        const { output } = session;
        const muted = await session.withClient((client) => client.dead.mute(input.group, { for: input.for, reason: input.reason }));
        if (output.json) return output.value(toMuteWire(muted));
        output.message(`error group ${input.group} is muted${muted.until === null ? "" : ` until ${muteEnd(muted, Date.now())}`}`);
      },
    }),
    unmute: defineVerb("Unmute an error group", {
      about: "Ends the mute of an error group. It is no error if it was not muted.",
      examples: ["millrace errors unmute 3f9c2a71b0de"],
      arguments: { group },
      options: { reason },
      async run(input, session) {
        const { output } = session;
        const unmuted = await session.withClient((client) => client.dead.unmute(input.group, { reason: input.reason }));
        if (output.json) return output.value({ group: input.group, unmuted });
        output.message(`error group ${input.group} ${unmuted ? "is not muted any more" : "was not muted"}`);
      },
    }),
  },
};

/** How a column "until" says when a mute ends. */
export function muteEnd({ until }: Mute, now: number): string {
  return until === null ? "you unmute it" : moment(until, now);
}

function columns(now: number): readonly Column<Mute>[] {
  return [
    { title: "GROUP", text: (mute) => mute.group },
    { title: "SINCE", text: ({ at }) => age(at, now), align: "right" },
    { title: "UNTIL", text: (mute) => muteEnd(mute, now) },
    { title: "BY", text: ({ by }) => by ?? NOTHING, shrinks: "middle" },
    { title: "REASON", text: ({ reason: why }) => why ?? NOTHING, shrinks: "end" },
  ];
}
