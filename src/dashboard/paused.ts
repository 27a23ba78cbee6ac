import { Watched } from "./watched.ts";

/** Whether somebody wants to read in peace: then nothing on the page changes by itself. */
export const isPaused = new Watched(false);
