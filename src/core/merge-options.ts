import type { JobOptions } from "./job-options.ts";

/** The call overrides the definition, and that overrides the defaults. `delay` and `runAt` replace each other. */
export function mergeOptions(...layers: readonly JobOptions[]): JobOptions {
  return layers.reduce((below, layer) => {
    const said = Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== undefined)) as JobOptions;
    const { delay: _, runAt: __, ...untimed } = below;
    return "delay" in said || "runAt" in said ? { ...untimed, ...said } : { ...below, ...said };
  }, {});
}
