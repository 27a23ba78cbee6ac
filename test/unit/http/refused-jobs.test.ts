/** A process ends with a promise that rejects and that nobody waits for. So no refusal of a job may leave one behind. */
import { describe, expect, test } from "vitest";
import { HTTP_REQUEST_TYPE } from "../../../src/core/internal.ts";
import { strayRejections } from "../stray-rejections.ts";
import { openApi, WAYS } from "./open-api.ts";

const LOOPBACK = "http://127.0.0.1/";

/** What is refused in more than one way. */
const REFUSED = [
  { what: "a webhook and a request to this machine", job: { type: HTTP_REQUEST_TYPE, payload: { url: LOOPBACK }, webhook_url: LOOPBACK } },
  {
    what: "a webhook to this machine and a payload that is no request",
    job: { type: HTTP_REQUEST_TYPE, payload: 1, webhook_url: LOOPBACK },
  },
];

describe.each(WAYS)("by %s, a job that is refused", (way) => {
  // The second time finds the checks loaded, and is refused at once.
  test.each(REFUSED)("twice leaves no promise behind: $what", async ({ job }) => {
    const { refuse } = await openApi({}, way);
    const strays = strayRejections();
    for (let time = 0; time < 2; time++) await refuse("POST /api/v1/jobs", { json: job }, "invalid_input");
    expect(await strays()).toEqual([]);
  });

  test.each(REFUSED)("twice in a batch leaves no promise behind: $what", async ({ job }) => {
    const { ask } = await openApi({}, way);
    const strays = strayRejections();
    for (let time = 0; time < 2; time++) {
      const { body } = await ask("POST /api/v1/jobs/batch", { json: { jobs: [job, { type: "t" }, job] } });
      expect(body.results.map(({ status }) => status)).toEqual([422, 201, 422]);
    }
    expect(await strays()).toEqual([]);
  });
});
