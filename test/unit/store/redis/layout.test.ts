import { describe, expect, test } from "vitest";
import {
  ATTEMPT,
  HEAD,
  HOLDER,
  holderId,
  isSet,
  KEY_LINE,
  LIMIT,
  LIMIT_KEY,
  LINE,
  MEMBER,
  RECORD,
  SCHEDULE,
} from "../../../../src/store/redis/layout.ts";

describe("packed forms are what was ever stored", () => {
  test.each([
    [RECORD, ">BBbI3I7I4I4I2I2I6I6I6I6dI5I4I4I2I2I4I4", 82],
    [HEAD, ">I6BbI3I7", 18],
    [HOLDER, ">BI6I6", 13],
    [ATTEMPT, ">I4I6I6dBI2", 27],
    [LINE, ">I6I4", 10],
    [SCHEDULE, ">I7BI6I6I6I6B", 33],
    [LIMIT, ">I3B", 4],
    [LIMIT_KEY, ">I4I4I4I3I6ddB", 38],
    [KEY_LINE, ">I3bBI4dI7", 24],
  ])("%#", (layout, format, bytes) => {
    expect(layout.format()).toBe(format);
    expect(layout.bytes).toBe(bytes);
  });
});

describe("a layout gives", () => {
  test("places of fields, counted from 0", () => {
    expect(RECORD.at).toMatchObject({ state: 0, flags: 1, seq: 6, fence: 13, runAt: 25, over: 43, ran: 49, wl: 72, el: 78 });
  });

  test("formats of some fields, with what stands between them passed over", () => {
    expect(RECORD.format("ran", "settled")).toBe(">dI5");
    expect(RECORD.open("record", "state", "flags", "lane", "fence")).toBe("open('>BBxI3xxxxxxxI4', record)");
    expect(RECORD.open("record", "priority", "lane")).toBe("open('>bI3', record, 3)");
  });

  test("cuts", () => {
    expect(RECORD.cut("record", "priority", "startedAt")).toBe("sub(record, 3, 37)");
    expect(RECORD.cut("record", "seq")).toBe("sub(record, 7, 13)");
    expect(RECORD.rest("record", "ran")).toBe("sub(record, 50)");
    expect(MEMBER.rest("member")).toBe("sub(member, 8)");
    expect(holderId("found")).toBe("sub(found, 14, 35)");
  });

  test("packing by names, but for what is given", () => {
    expect(HEAD.pack({ created: "now" })).toBe("pack('>I6BbI3I7', now, flags, priority, lane, seq)");
    expect(HEAD.packNew({ priority: -1 })).toBe("pack('>I6BbI3I7', 0, 0, -1, 0, 0)");
  });

  test("tests of flags", () => {
    expect([1, 2, 4].map((flag) => isSet("flags", flag))).toEqual(["flags % 2 >= 1", "flags % 4 >= 2", "flags % 8 >= 4"]);
  });
});
