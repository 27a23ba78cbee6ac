import { preview } from "./errors.ts";

/** The name of a field for an answer or a log: as it is if it is safe to print, otherwise a preview. */
export function plainName(name: string): string {
  return /^[\w.:[\]-]{1,200}$/.test(name) ? name : preview(name);
}
