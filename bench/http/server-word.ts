/** What a server of the bench says to the process that started it: where it listens, and, when asked, what time of a processor it has used. */
export type ServerWord = { readonly kind: "listening"; readonly port: number } | { readonly kind: "used"; readonly cpuMs: number };

/** Says where this process listens, and answers until the other side hangs up: then it ends. */
export function tellAsServer(port: number): void {
  const say = (word: ServerWord): void => void process.send!(word);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    say({ kind: "used", cpuMs: (user + system) / 1000 });
  });
  process.once("disconnect", () => process.exit(0));
  say({ kind: "listening", port });
}
