/** Which versions of Node we need, and what a user of an older one is told. */

const OLDEST = { major: 22, minor: 18 };

/** The releases whose SQLite several processes can use on one file: 3.51.3 and later, but not 3.52.0. See store/sqlite/database.ts. */
export const NODES_THAT_SHARE_SQLITE = "Node 22.22.3, 24.15, 25.9 or 26, or a later release of one of these";

/** Throws on a Node that lacks what our code uses. Its own error would not say what is missing. */
export function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return;
  throw new Error(
    `millrace needs Node ${OLDEST.major}.${OLDEST.minor} or later; this is Node ${version}. Install a newer Node: https://nodejs.org`,
  );
}
