import type { Site } from "./place.ts";

/** Every client has its own store in this process. */
export async function memorySite(): Promise<Site> {
  const place = { url: "memory:", bytes: async () => 0, sizes: async () => new Map<string, number>(), close: async () => {} };
  return { about: "in this process", fresh: async () => place, close: async () => {} };
}
