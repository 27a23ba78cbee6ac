/** The handlers that the compose files run. Put your own here, or mount another folder at /app/jobs. */
export default {
  "email:send": async ({ to }: { to: string }) => ({ sent: to }),
  "report:make": async ({ month }: { month: number }) => {
    if (month > 12) throw new Error("there is no such month");
    return { pages: month };
  },
};

/** What `millrace start` proposes to try. */
export const example = { type: "email:send", payload: { to: "ann@example.com" } };
