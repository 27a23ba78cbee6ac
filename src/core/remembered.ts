/** Returns the value for a key, and makes it if needed. Removes the oldest when there are too many. */
export function remembered<T>(kept: Map<string, T>, most: number, key: string, make: () => T): T {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  const [oldest] = kept.keys();
  if (oldest !== undefined && kept.size >= most) kept.delete(oldest);
  kept.set(key, made);
  return made;
}
