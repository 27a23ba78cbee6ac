import { MillraceError } from "../../core/errors.ts";

/** Reads `sqlite:path.db`, `sqlite:/var/lib/app.db`, `sqlite:app.db?synchronous=normal`. */
export function parseSqliteUrl(url: string): { path: string; synchronous: "full" | "normal" } {
  const [location = "", query = ""] = url.replace(/^sqlite:(\/\/(?=\/))?/i, "").split("?", 2);
  const path = decode(location);
  if (path.startsWith("//")) {
    throw new MillraceError("invalid_input", `url must be sqlite:${path.slice(2)} for a relative path, or sqlite:/… for a full path`, {
      field: "url",
    });
  }
  if (path === "" || path === ":memory:") {
    throw new MillraceError("invalid_input", 'url must name a file, as in "sqlite:millrace.db"; for jobs in memory use "memory:"', {
      field: "url",
    });
  }
  const parameters = new URLSearchParams(query);
  const synchronous = parameters.get("synchronous") ?? "full";
  const unknown = [...parameters.keys()].find((name) => name !== "synchronous");
  if (unknown !== undefined || (synchronous !== "full" && synchronous !== "normal")) {
    throw new MillraceError("invalid_input", "url of SQLite accepts only the parameters ?synchronous=full and ?synchronous=normal", {
      field: "url",
    });
  }
  return { path, synchronous };
}

function decode(location: string): string {
  try {
    return decodeURIComponent(location);
  } catch {
    throw new MillraceError("invalid_input", "url has a % that does not begin a valid escape: write %25 for a % in a file name", {
      field: "url",
    });
  }
}
