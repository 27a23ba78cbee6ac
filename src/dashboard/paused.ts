import { Watched } from "./watched.ts";

/** Whether the user paused live updates: then nothing on the page changes by itself. */
export const isPaused = new Watched(false);
