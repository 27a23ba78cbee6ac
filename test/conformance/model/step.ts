import fc from "fast-check";
import type { World } from "../world.ts";
import { compareStep } from "./compare.ts";
import type { Model, Real } from "./state.ts";

export type Command = fc.Arbitrary<fc.AsyncCommand<Model, Real>>;

const connection = fc.constantFrom(0 as const, 1 as const);

type Act<Input> = (input: Input, model: Model, world: World) => Promise<void>;

/** A command: acts through one of two connections, and this or the other one must see what the reference says. */
export function command<Input>(name: string, input: fc.Arbitrary<Input>, act: Act<Input>): Command {
  return fc.record({ input, here: connection, look: connection }).map(({ input, here, look }) => ({
    check: () => true,
    async run(model: Model, { connections }: Real): Promise<void> {
      await act(input, model, connections[here]);
      await compareStep(model, connections[look]);
    },
    toString: () => `${name}(${fc.stringify(input)})${here === 1 ? " elsewhere" : ""}${look === here ? "" : " seen from the other side"}`,
  }));
}

/** One of a list, by a number that was drawn before the list was known. */
export function pickFrom<Item>(list: readonly Item[], pick: number): Item | undefined {
  return list.length === 0 ? undefined : list[pick % list.length];
}
