/** What a server process sends to its parent: its port and, on request, the CPU time it has used. */
export type ServerMessage = { readonly kind: "listening"; readonly port: number } | { readonly kind: "used"; readonly cpuMs: number };

/** Sends the port, and answers requests until the parent disconnects; then exits. */
export function tellAsServer(port: number): void {
  const say = (message: ServerMessage): void => void process.send!(message);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    say({ kind: "used", cpuMs: (user + system) / 1000 });
  });
  process.once("disconnect", () => process.exit(0));
  say({ kind: "listening", port });
}
