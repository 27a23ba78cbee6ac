/** The payload of all jobs, about 150 bytes. */
export const PAYLOAD = {
  to: "someone@example.com",
  subject: "Your order has been shipped",
  template: "order-shipped",
  data: { order: 4711, lines: 3, total: 129.9 },
};
