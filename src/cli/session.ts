/** What a command is given beside its options: a voice, the settings, and a client that is closed when the command has ended. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Client, Leases } from "../client/client.ts";
import type { SettingName } from "../config.ts";
import { loadConfigFile } from "../config/config-file.ts";
import { type ConfigSources, describeStore, readConfig, type ReadConfig } from "../config/read-config.ts";
import { isServerUrl } from "../config/store-url.ts";
import type { ConnectOptions } from "../connect.ts";
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

const CLIENT_SETTINGS = ["url", "poolSize", "apiKey", "jobDefaultTimeout", "jobDefaultMaxRetries", "jobDefaultRetryDelay"] as const;

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

  /** The store and the setting that named it. */
  async storeName(): Promise<string> {
    return describeStore(await this.settings("url"));
  }

  /** Opens the client of the settings' URL, or of another; who opened it closes it. */
  async openClient(other?: string): Promise<Client> {
    const { connect } = await import("../connect.ts");
    return connect(...(await this.#connection(other)));
  }

  /** The same, for a worker that writes a line for each job into the log. */
  async openWorkingClient(watchLeases: (leases: Leases) => Leases): Promise<Client> {
    const { connectToWork } = await import("../connect.ts");
    const [url, options] = await this.#connection();
    return connectToWork(url, options, watchLeases);
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
      const interruption = new AbortController();
      this.#interruption = interruption;
      process.once("SIGINT", () => interruption.abort(new CommandRefused("interrupted", EXIT.interrupted)));
    }
    return this.#interruption.signal;
  }

  /** What was piped in. */
  async readInput(): Promise<string> {
    const parts: Buffer[] = [];
    for await (const part of this.terminal.stdin) parts.push(Buffer.from(part as Buffer));
    return Buffer.concat(parts).toString("utf8");
  }

  async #connection(other?: string): Promise<[url: string, options: ConnectOptions]> {
    const { config } = await this.settings(...CLIENT_SETTINGS);
    const url = other ?? config.url;
    return [url, isServerUrl(url) ? this.#serverOptions(config.apiKey) : this.#storeOptions(config)];
  }

  #storeOptions(config: ReadConfig<(typeof CLIENT_SETTINGS)[number]>["config"]): ConnectOptions {
    const { poolSize, jobDefaultTimeout: timeout, jobDefaultMaxRetries: maxRetries, jobDefaultRetryDelay: retryDelay } = config;
    return {
      poolSize,
      defaults: { timeout, maxRetries, retryDelay },
      onTrouble: ({ message }) => this.output.warn(`millrace: ${message}`),
    };
  }

  /** What holds for jobs of which nothing is said is the server's to say. */
  #serverOptions(keys: readonly string[]): ConnectOptions {
    const [key] = keys;
    return {
      ...(key === undefined ? {} : { apiKey: secretOf(key) }),
      onTrouble: ({ message }) => this.output.warn(`millrace: ${message}`),
    };
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

/** `name:scope+scope:secret` is how a server is told of a key; only the secret is sent to it. */
function secretOf(key: string): string {
  return /^[^:]+:[a-z+]+:(.+)$/.exec(key)?.[1] ?? key;
}
