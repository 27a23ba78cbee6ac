import { encodeText } from "./codec.ts";
import type { Desk } from "./desk.ts";

export async function setMark(desk: Desk, name: string, ttlMs: number): Promise<void> {
  await desk.connections.call(desk.sql.putMark, [desk.now(), encodeText(name), ttlMs]);
}

export async function readMarks(desk: Desk, names: readonly string[]): Promise<boolean[]> {
  if (names.length === 0) return [];
  const encoded = names.map(encodeText);
  const rows = await desk.connections.call(desk.sql.readMarks, [desk.now(), encoded]);
  const marked = new Set(rows.map(([name]) => name as string));
  return encoded.map((name) => marked.has(name));
}
