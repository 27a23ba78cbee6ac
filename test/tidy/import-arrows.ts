// Who may import whom. Each room of the house names what it may use; what is not named here is not allowed.

import type { Files } from "./files.ts";
import { sourceFiles } from "./files.ts";
import { importedSpecifiers, isRelative, resolveRelative } from "./imports.ts";

interface Room {
  /** A file, or a folder with all that is in it. */
  place: string;
  /** Files and folders beside its own; "anyone" still does not open an engine. */
  mayUse: readonly string[] | "anyone";
  /** Packages and built-ins; left out, any that package.json declares. */
  packages?: readonly string[];
}

const core = "src/core/";
const lib = "src/lib/";
const contract = "src/store/store.ts";
const client = "src/client/client.ts";
const renewal = "src/worker/renewal/";
const beatThread = `${renewal}beat-thread.ts`;
const threadStarter = `${renewal}thread-renewer.ts`;

const engines = ["memory", "sqlite", "postgres", "redis"].map((engine) => `src/store/${engine}/`);
const flows = "src/flows/";
const engineDoor = "src/store/open-store.ts";
const ownConnection = "src/store/own-connection.ts";
/** What engines have in common. */
const engineParts = [
  "bind-store",
  "calls-under-way",
  "cannot-reach",
  "early-hints",
  "listeners",
  "lost-answer",
  "news-wanted",
  "numbers",
  "packed-times",
  "state-order",
  "stored-error",
  "stored-manual-change",
].map((part) => `src/store/${part}.ts`);

// A file stands before the folder that it lives in: the first place that fits is the room.
const rooms: readonly Room[] = [
  { place: core, mayUse: [], packages: ["node:crypto"] },
  { place: lib, mayUse: [], packages: ["node:"] },
  { place: contract, mayUse: [core] },
  { place: ownConnection, mayUse: [core] },
  { place: engineDoor, mayUse: [core, contract, ownConnection, lib, ...engines] },
  ...engineParts.map((place) => ({ place, mayUse: [core, contract, lib, ...engineParts] })),
  ...engines.map((place) => ({ place, mayUse: [core, contract, lib, ...engineParts] })),
  { place: flows, mayUse: [core, contract, lib] },
  { place: "src/client/", mayUse: [core, contract, flows, lib] },
  { place: "src/upkeep/", mayUse: [core, contract, flows, lib] },
  // The one file of the worker that opens a store: it runs in a thread of its own, and only its starter knows of it.
  { place: beatThread, mayUse: [core, engineDoor, lib, renewal] },
  { place: "src/worker/", mayUse: [core, client, lib] },
  { place: "src/webhook/", mayUse: [core, client, lib] },
  { place: "src/observe/", mayUse: [core, lib] },
  { place: "src/http/", mayUse: [core, client, "src/observe/", lib] },
  { place: "src/dashboard/", mayUse: ["src/http/remote-client.ts", core] },
  { place: "src/testing/", mayUse: "anyone" },
  // As a program of a user: by the public doors.
  { place: "src/nestjs/", mayUse: ["src/index.ts", "src/server.ts", "src/testing/index.ts"], packages: ["@nestjs"] },
  { place: "src/cli/", mayUse: "anyone" },
  { place: "src/connect.ts", mayUse: "anyone" },
  { place: "src/assembly/", mayUse: "anyone" },
  { place: "src/index.ts", mayUse: "anyone" },
  { place: "src/serve.ts", mayUse: "anyone" },
  { place: "src/server.ts", mayUse: "anyone" },
  { place: "src/config.ts", mayUse: "anyone" },
  { place: "src/config/", mayUse: [core, "src/config.ts"] },
];

/** Each import that follows no arrow, as "src/a.ts -> src/b.ts: reason". */
export function wrongArrows(files: Files): string[] {
  return sourceFiles(files).flatMap((file) => {
    const room = roomOf(file);
    if (!room) return [`${file}: stands in no room of test/tidy/import-arrows.ts`];
    return importedSpecifiers(file, files.get(file) ?? "").flatMap((specifier) => {
      const { target, reason } = isRelative(specifier) ? judgeFile(files, file, room, specifier) : judgePackage(room, specifier);
      return reason === undefined ? [] : [`${file} -> ${target}: ${reason}`];
    });
  });
}

interface Judgement {
  target: string;
  reason?: string;
}

function judgeFile(files: Files, file: string, room: Room, specifier: string): Judgement {
  const target = resolveRelative(files, file, specifier);
  if (target === undefined) return { target: specifier, reason: "there is no such file" };
  if (target === beatThread && file !== threadStarter) return { target, reason: `only ${threadStarter} imports the thread` };
  if (target === "package.json" || within(room.place, target)) return { target };
  if (!target.startsWith("src/")) return { target, reason: "sources use only sources" };
  if (engines.some((engine) => within(engine, target)) && file !== engineDoor)
    return { target, reason: `only ${engineDoor} imports an engine` };
  if (room.mayUse === "anyone" || room.mayUse.some((place) => within(place, target))) return { target };
  return { target, reason: `${room.place} may use ${list(room.mayUse)}` };
}

function judgePackage(room: Room, specifier: string): Judgement {
  const target = specifier;
  if (/^millrace($|\/)/.test(specifier)) return { target, reason: "sources import each other by path" };
  if (!room.packages || room.packages.some((name) => specifier === name || specifier.startsWith(name.endsWith(":") ? name : `${name}/`)))
    return { target };
  return { target, reason: `of packages, ${room.place} may use ${list(room.packages)}` };
}

function roomOf(file: string): Room | undefined {
  return rooms.find((room) => within(room.place, file));
}

function within(place: string, file: string): boolean {
  return place.endsWith("/") ? file.startsWith(place) : file === place;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "nothing but itself" : `only ${names.join(", ")}`;
}
