import { preview } from "./errors.ts";

/** The name of a field as it may stand in an answer or a log: as it is where it is harmless, else a picture of it. */
export function plainName(name: string): string {
  return /^[\w.:[\]-]{1,200}$/.test(name) ? name : preview(name);
}
