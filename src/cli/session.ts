/** What a command is given beside its options: a voice, the settings, and a client that is closed when the command has ended. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Client } from "../client/client.ts";
import { CLIENT_SETTINGS, clientOptions, type SettingName, STORE_ONLY_SETTINGS } from "../config.ts";
import { loadConfigFile } from "../config/config-file.ts";
import { type ConfigSources, describeStore, readConfig, type ReadConfig, unusedStores } from "../config/read-config.ts";
import { isServerUrl, maskUrl } from "../config/store-url.ts";
import type { ConnectOptions, Watching } from "../connect.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** Where settings are looked for. */
export interface SettingPlaces {
  readonly flags: NonNullable<ConfigSources["flags"]>;
  /** The configuration file that was named. */
  readonly config?: string | undefined;
  /** A file of variables that was named. */
  readonly envFile?: string | undefined;
}

/** One run of a command. */
export class Session {
  readonly terminal: Terminal;
  readonly output: Output;
  readonly #places: SettingPlaces;
  #sources: Promise<ConfigSources> | null = null;
  #interruption: AbortController | null = null;

  constructor(terminal: Terminal, output: Output, places: SettingPlaces) {
    this.terminal = terminal;
    this.output = output;
    this.#places = places;
  }

  /** Everything that settings are read from. */
  sources(): Promise<ConfigSources> {
    return (this.#sources ??= this.#findSources());
  }

  async settings<Name extends SettingName>(...names: readonly Name[]): Promise<ReadConfig<Name>> {
    return readConfig(await this.sources(), names);
  }

  /** The store and the setting that named it, for the line that a process says when it starts. Says which other stores are not used. */
  async storeName(): Promise<string> {
    const read = await this.settings("url");
    const unused = unusedStores(read.sources.url, (await this.sources()).env);
    if (unused.length > 0) this.output.warn(`millrace: ${unused.join(", ")} not used: the store is ${describeStore(read)}`);
    return describeStore(read);
  }

  /** Opens the client of the settings' URL, or of another; who opened it closes it. */
  async openClient(other?: string): Promise<Client> {
    const { connect } = await import("../connect.ts");
    return connect(...(await this.#connection(other)));
  }

  /** The same, for a worker that writes what happens into its log. */
  async openWorkingClient(watching: Watching, onTrouble: OnTrouble): Promise<Client> {
    const { connectToWork } = await import("../connect.ts");
    const [url, options] = await this.#connection();
    if (isServerUrl(url)) await this.#tellIdle(url);
    return connectToWork(url, { ...options, onTrouble }, watching);
  }

  /** Hands a client to work that runs no jobs, and closes it whatever happens. */
  async withClient<Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer> {
    const { connectBriefly } = await import("../connect.ts");
    const client = await connectBriefly(...(await this.#connection()));
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  /** Aborts at Ctrl-C, so that a command that goes on and on can end in good order. A second Ctrl-C ends it at once. */
  interrupted(): AbortSignal {
    if (this.#interruption === null) {
      this.#interruption = new AbortController();
      process.once("SIGINT", this.#interrupt);
    }
    return this.#interruption.signal;
  }

  readonly #interrupt = (): void => this.#interruption?.abort(new CommandRefused("interrupted", EXIT.interrupted));

  /** The command is done: Ctrl-C is no longer its business. */
  end(): void {
    process.off("SIGINT", this.#interrupt);
  }

  /** What was piped in. */
  async readInput(): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.terminal.stdin) parts.push(Buffer.from(part as Buffer));
    return Buffer.concat(parts);
  }

  /** What the server decides has no effect in a worker that only talks to it. */
  async #tellIdle(server: string): Promise<void> {
    const { sources } = await this.settings(...STORE_ONLY_SETTINGS);
    const idle = STORE_ONLY_SETTINGS.map((name) => sources[name]).filter(({ from }) => from !== "default");
    if (idle.length === 0) return;
    const names = idle.map(({ name }) => name).join(", ");
    this.output.warn(`millrace: ${names} not used: ${maskUrl(server)} opens the store, so set this for the server`);
  }

  async #connection(other?: string): Promise<[url: string, options: ConnectOptions]> {
    const { config } = await this.settings(...CLIENT_SETTINGS);
    const url = other ?? config.url;
    const options = isServerUrl(url) ? serverOptions(config.apiKey) : clientOptions(config);
    return [url, { ...options, onTrouble: ({ message }) => this.output.warn(`millrace: ${message}`) }];
  }

  async #findSources(): Promise<ConfigSources> {
    const { flags, config, envFile } = this.#places;
    const { file, warnings } = await loadConfigFile(this.terminal.cwd, config);
    for (const warning of warnings) this.output.warn(`millrace: ${warning}`);
    return { flags, env: { ...this.#readEnvFile(envFile), ...this.terminal.env }, file };
  }

  #readEnvFile(named: string | undefined): Record<string, string | undefined> {
    if (named === undefined) return {};
    const path = resolve(this.terminal.cwd, named);
    if (!existsSync(path)) throw new CommandRefused(`--env-file ${named}: there is no such file`);
    return parseEnv(readFileSync(path, "utf8"));
  }
}

/** What holds for jobs of which nothing is said is the server's to say. */
function serverOptions([key]: readonly string[]): ConnectOptions {
  return key === undefined ? {} : { apiKey: secretOf(key) };
}

/** `name:scope+scope:secret` is how a server is told of a key; only the secret is sent to it. */
function secretOf(key: string): string {
  return /^[^:]+:[a-z+]+:(.+)$/.exec(key)?.[1] ?? key;
}
