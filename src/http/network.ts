/**
 * What callers without a key are counted by. For IPv6 it is the network (the first 64 bits): whoever has one address there has them all,
 * and could otherwise be a new caller with each request.
 */
export function networkOf(address: string | null): string {
  if (address === null) return "";
  const lower = address.toLowerCase();
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/.exec(lower);
  if (mapped !== null) return mapped[1]!;
  if (!lower.includes(":")) return lower;
  const [head = "", tail = ""] = lower.replace(/%.*$/, "").split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":");
}
