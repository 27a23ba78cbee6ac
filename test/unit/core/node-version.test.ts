import { expect, test } from "vitest";
import { refuseOldNode } from "../../../src/core/node-version.ts";

test("a Node that is too old is refused with what it needs", () => {
  for (const old of ["18.20.0", "20.20.2", "22.17.9"]) {
    expect(() => refuseOldNode(old)).toThrow(`millrace needs Node 22.18 or later; this is Node ${old}`);
  }
  for (const good of ["22.18.0", "22.22.3", "24.0.0", "26.1.0"]) expect(() => refuseOldNode(good)).not.toThrow();
});
