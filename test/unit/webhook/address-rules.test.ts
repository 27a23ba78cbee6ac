import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { AddressRules } from "../../../src/webhook/address-rules.ts";

describe("W14: without an allow list", () => {
  const rules = new AddressRules();

  test.each(["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "223.255.255.255"])(
    "%s is open",
    (address) => expect(rules.refusal(address)).toBeNull(),
  );

  test.each(["2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "2620:fe::fe"])("%s is open", (address) =>
    expect(rules.refusal(address)).toBeNull(),
  );

  test.each([
    ["127.0.0.1", "loopback"],
    ["127.255.255.255", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.255.1", "private"],
    ["169.254.169.254", "link-local"],
    ["100.64.0.1", "CGNAT"],
    ["100.127.255.255", "CGNAT"],
    ["192.0.0.1", "protocols"],
    ["192.0.2.1", "documentation"],
    ["198.18.0.1", "benchmarks"],
    ["198.19.255.255", "benchmarks"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["fe80::1", "link-local"],
    ["febf::1", "link-local"],
    ["fc00::1", "unique local"],
    ["fd12:3456::1", "unique local"],
    ["fd00:ec2::254", "unique local"], // the metadata of AWS
    ["ff02::1", "multicast"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["2001:20::1", "protocols"],
    ["100::1", "reserved"],
    ["5f00::1", "reserved"],
    ["fec0::1", "reserved"],
    ["4000::1", "reserved"],
    ["::ffff:127.0.0.1", "inside"],
    ["::ffff:7f00:1", "inside"],
    ["::ffff:8.8.8.8", "inside"],
    ["::127.0.0.1", "inside"],
    ["::ffff:0:127.0.0.1", "inside"],
    ["64:ff9b::127.0.0.1", "inside"],
    ["64:ff9b::8.8.8.8", "inside"],
    ["64:ff9b:1::10.0.0.1", "inside"],
    ["2002:7f00:1::", "inside"],
    ["2002:a9fe:a9fe::1", "inside"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "inside"],
    ["fe80::1%eth0", "not an address"],
    ["localhost", "not an address"],
    ["", "not an address"],
  ])("%s is closed: %s", (address, why) => expect(rules.refusal(address)).toContain(why));

  property.prop([fc.ipV4()])("an IPv4 address never passes in the clothes of an IPv6 one", (address) => {
    const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
    const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    for (const dressed of [`::ffff:${address}`, `::ffff:${hex}`, `::ffff:0:${address}`, `64:ff9b::${address}`, `2002:${hex}::1`]) {
      expect(rules.refusal(dressed)).not.toBeNull();
    }
  });

  property.prop([fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())])("it answers for any text", (address) => {
    const refusal = rules.refusal(address);
    expect(refusal === null || typeof refusal === "string").toBe(true);
  });
});

describe("an allow list", () => {
  test("opens its ranges, and only those", () => {
    const rules = new AddressRules(["10.1.0.0/16", " 192.168.1.7 ", "fd00::/8"]);
    expect(rules.refusal("10.1.255.255")).toBeNull();
    expect(rules.refusal("10.2.0.0")).toContain("private");
    expect(rules.refusal("192.168.1.7")).toBeNull();
    expect(rules.refusal("192.168.1.8")).toContain("private");
    expect(rules.refusal("fd00::1")).toBeNull();
    expect(rules.refusal("fc00::1")).toContain("unique local");
    expect(rules.refusal("127.0.0.1")).toContain("loopback");
  });

  test("that opens an IPv4 range opens its mapped form, which is the same place", () => {
    expect(new AddressRules(["10.0.0.0/8"]).refusal("::ffff:10.0.0.1")).toBeNull();
  });

  test("that opens the prefix of a translator does not open what is closed behind it", () => {
    const rules = new AddressRules(["64:ff9b::/96"]);
    expect(rules.refusal("64:ff9b::8.8.8.8")).toBeNull();
    expect(rules.refusal("64:ff9b::127.0.0.1")).toContain("loopback");
    expect(rules.refusal("64:ff9b::169.254.169.254")).toContain("link-local");
  });

  test("that opens a range of IPv6 leaves an IPv4 address inside of it closed", () => {
    expect(new AddressRules(["::/0"]).refusal("::ffff:127.0.0.1")).toContain("inside");
    expect(new AddressRules(["2002::/16"]).refusal("2002:7f00:1::")).toContain("loopback");
  });

  test.each([
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "fd00::/129",
    "10.0.0.0/8/8",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "10.0.0.0/1e1",
    "example.com",
    "fe80::1%lo/64",
  ])("refuses %j", (range) => {
    expect(() => new AddressRules([range])).toThrow(/^allow must be addresses or ranges/);
  });

  test("refuses what is no text", () => {
    expect(() => new AddressRules([7 as unknown as string])).toThrow(/^allow must be/);
  });
});
