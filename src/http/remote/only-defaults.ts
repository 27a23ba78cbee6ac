import { ATTEMPT_OPTION_NAMES } from "../../core/attempt-options.ts";
import type { OnlyDefaults } from "../../client/client.ts";
import type { JobOptions } from "../../core/job-options.ts";
import { toSnakeCase } from "../wire/values.ts";

/**
 * The field that tells the server which options come only from the defaults of this client, because no other layer sets them: the defaults of
 * the queue, which the server knows, come before those. Empty if there is none, as usual.
 */
export function onlyDefaults(
  defaults: JobOptions,
  ...layers: readonly (JobOptions & OnlyDefaults)[]
): { readonly unset?: readonly string[] } {
  const unset = ATTEMPT_OPTION_NAMES.filter(
    (name) =>
      (defaults[name] !== undefined && layers.every((layer) => layer[name] === undefined)) ||
      layers.some((layer) => Array.isArray(layer.unset) && layer.unset.includes(name)),
  );
  return unset.length === 0 ? {} : { unset: unset.map(toSnakeCase) };
}
