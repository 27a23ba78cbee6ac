import { describe, expect, test } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { Reply } from "../../../../src/store/redis/codec.ts";
import type { Driver } from "../../../../src/store/redis/driver.ts";
import { Session } from "../../../../src/store/redis/session.ts";
import { script } from "../../../../src/store/redis/statements/script.ts";

/** A driver that fails as it is told, then answers with what it was asked. */
class FailingDriver implements Driver {
  lastError: Error | null = null;
  readonly calls: string[] = [];
  readonly #errors: (Error | null)[];
  #ready: () => void = () => {};

  constructor(...errors: (Error | null)[]) {
    this.#errors = errors;
  }

  command(name: string, args: readonly string[]): Promise<Reply> {
    return this.#answer([name, ...args].join(" "));
  }

  async #answer(call: string): Promise<Reply> {
    this.calls.push(call);
    const error = this.#errors.shift();
    if (error instanceof Error) throw error;
    return Buffer.from(call);
  }

  async info(): Promise<string[]> {
    return [];
  }

  subscribe(): never {
    throw new Error("not here");
  }

  onReady(listener: () => void): void {
    this.#ready = listener;
  }

  becomeReady(): void {
    this.#ready();
  }

  close(): void {}
}

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError", command: { args: ["secret"] } });
}

const TRY = script("try", "return 1");

const call = (name: string, what: string, argument = "a"): string => `${name} ${what} 2 k:v k:none  ${argument}`;
const FIRST = call("evalsha", TRY.sha);
const AGAIN = call("evalsha", TRY.sha, "again");

function sessionOver(driver: Driver, deadlineMs = 5_000): Session {
  return new Session(driver, { clock: systemClock, deadlineMs, place: "redis.test:6379", refusedMs: Infinity });
}

describe("a call", () => {
  test("is made by digest, and by text when the server does not know that", async () => {
    const driver = new FailingDriver(reply("NOSCRIPT No matching script."));
    await sessionOver(driver).run(TRY, "k", ["a"]);
    expect(driver.calls).toEqual([call("evalsha", TRY.sha), call("eval", "return 1")]);
  });

  for (const message of [
    "LOADING Redis is loading",
    "READONLY You can't",
    "CLUSTERDOWN x",
    "TRYAGAIN x",
    "Stream isn't writeable",
    "BUSY x",
  ]) {
    test(`that was not carried out is made again as it was: ${message}`, async () => {
      const driver = new FailingDriver(reply(message), reply(message));
      await sessionOver(driver).run(TRY, "k", ["a"], () => ({ script: TRY, args: ["again"] }));
      expect(driver.calls).toEqual([FIRST, FIRST, FIRST]);
    });
  }

  // The second is what a Cluster says of calls under way to a node that it gives up.
  for (const message of ["Reached the max retries per request limit", "Connection is closed."]) {
    test(`whose answer was lost is made again so that its repeat can be known: ${message}`, async () => {
      const driver = new FailingDriver(new Error(message), reply("LOADING"));
      await sessionOver(driver).run(TRY, "k", ["a"], () => ({ script: TRY, args: ["again"] }));
      expect(driver.calls).toEqual([FIRST, AGAIN, AGAIN]);
    });
  }

  test("fails with store_unavailable at its deadline, says why, and does not show its arguments", async () => {
    const driver = new FailingDriver(...Array<Error>(1_000).fill(reply("LOADING Redis is loading")));
    const failure = sessionOver(driver, 60).run(TRY, "k", ["a"]);
    await expect(failure).rejects.toMatchObject({ code: "store_unavailable", message: expect.stringContaining("LOADING") as string });
    await expect(failure).rejects.toMatchObject({
      cause: expect.not.objectContaining({ command: expect.anything() as unknown }) as unknown,
    });
  });

  test("of a server without memory fails with store_full, at once, also where the script's error is wrapped", async () => {
    const wrapped = "ERR Error running script (call to f_1): @user_script:7: @user_script: 7: -OOM command not allowed when used memory";
    for (const message of ["OOM command not allowed when used memory > 'maxmemory'.", wrapped]) {
      const driver = new FailingDriver(reply(message));
      await expect(sessionOver(driver).run(TRY, "k", [])).rejects.toMatchObject({ code: "store_full" });
      expect(driver.calls).toHaveLength(1);
    }
  });

  test("with a wrong password fails at once and says so", async () => {
    const driver = new FailingDriver(reply("Stream isn't writeable"));
    driver.lastError = reply("WRONGPASS invalid username-password pair");
    await expect(sessionOver(driver).run(TRY, "k", [])).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("WRONGPASS") as string,
    });
  });

  test("goes on as soon as the server is there again", async () => {
    // The pauses between forty tries would take longer than the deadline allows.
    const driver = new FailingDriver(...Array<Error>(40).fill(reply("LOADING")));
    const hurry = setInterval(() => driver.becomeReady(), 1);
    await sessionOver(driver).command("PING");
    clearInterval(hurry);
  });

  test("that is a mistake of ours is not repeated and not disguised", async () => {
    const driver = new FailingDriver(reply("ERR wrong number of arguments"));
    await expect(sessionOver(driver).command("GET")).rejects.toThrow("wrong number");
    expect(driver.calls).toHaveLength(1);
  });
});

test("a call that waits to be made again fails once it is given up", async () => {
  const session = sessionOver(new FailingDriver(...Array.from({ length: 1_000 }, () => reply("LOADING"))), 600_000);
  const failure = session.run(TRY, "k", ["a"]).catch((error: unknown) => error);
  session.giveUp();
  expect(await failure).toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("before the client was closed") as string,
  });
});
