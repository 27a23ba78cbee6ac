/** What a command gets beside its options: output, settings, and a client that is closed when the command ends. */
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Client, PlainClient } from "../client/client.ts";
import { CLIENT_SETTINGS, clientOptions, type SettingName, signalOptions, STORE_ONLY_SETTINGS } from "../config.ts";
import { loadConfigFile } from "../config/config-file.ts";
import { type ConfigSources, describeStore, misspelled, readConfig, type ReadConfig, unusedStores } from "../config/read-config.ts";
import { isServerUrl, maskUrl } from "../config/store-url.ts";
import type { ConnectOptions, Watching } from "../connect.ts";
import { formatDuration } from "../core/duration.ts";
import { MAX_ACTOR_LENGTH } from "../core/manual-change.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** Where settings come from, beside the environment: flags, `--config` and `--env-file`. */
export interface SettingPlaces {
  readonly flags: NonNullable<ConfigSources["flags"]>;
  readonly config?: string | undefined;
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

  sources(): Promise<ConfigSources> {
    return (this.#sources ??= this.#findSources());
  }

  async settings<Name extends SettingName>(...names: readonly Name[]): Promise<ReadConfig<Name>> {
    return readConfig(await this.sources(), names);
  }

  /** The store and the setting that named it, to print at the start. Warns of settings that name other stores. */
  async storeName(): Promise<string> {
    const read = await this.settings("url");
    const unused = unusedStores(read.sources.url, (await this.sources()).env);
    if (unused.length > 0) this.output.warn(`millrace: ${unused.join(", ")} not used: the store is ${describeStore(read)}`);
    return describeStore(read);
  }

  /** Opens a client for the URL of the settings, or for another. The caller closes it. */
  async openClient(other?: string): Promise<Client> {
    const { connect } = await import("../connect.ts");
    return connect(...(await this.#connection(other)));
  }

  /** The same, for a worker that logs its jobs. */
  async openWorkingClient(watching: Watching, onTrouble: OnTrouble): Promise<Client> {
    const { connectToWork } = await import("../connect.ts");
    const [url, options] = await this.#connection();
    if (isServerUrl(url)) {
      await this.#warnOfUnused(url);
      return connectToWork(url, { ...options, onTrouble }, watching);
    }
    const signals = signalOptions((await this.settings("publicUrl", "signalSecret")).config);
    return connectToWork(url, { ...options, signals, onTrouble }, watching);
  }

  /** For commands that run no jobs. Always closes the client. */
  async withClient<Answer>(work: (client: PlainClient) => Promise<Answer>): Promise<Answer> {
    const { connectBriefly } = await import("../connect.ts");
    const client = await connectBriefly(...(await this.#connection()));
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  /** Aborts at Ctrl-C, so that a long command can clean up. A second Ctrl-C ends it at once. */
  interrupted(): AbortSignal {
    if (this.#interruption === null) {
      this.#interruption = new AbortController();
      process.once("SIGINT", this.#interrupt);
    }
    return this.#interruption.signal;
  }

  readonly #interrupt = (): void => this.#interruption?.abort(new CommandRefused("interrupted", EXIT.interrupted));

  /** At the first signal, prints how long running jobs have to finish. */
  announceStop(graceMs: number): void {
    const announce = (): void =>
      this.output.message(`millrace: stopping; running jobs have ${formatDuration(graceMs)} to finish, and a second signal ends at once`);
    process.once("SIGTERM", announce).once("SIGINT", announce);
  }

  /** Stops listening to Ctrl-C. */
  end(): void {
    process.off("SIGINT", this.#interrupt);
  }

  /** Reads stdin to its end. */
  async readInput(): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.terminal.stdin) parts.push(Buffer.from(part as Buffer));
    return Buffer.concat(parts);
  }

  /** A worker of a server does not use settings of the store. */
  async #warnOfUnused(server: string): Promise<void> {
    const { sources } = await this.settings(...STORE_ONLY_SETTINGS);
    const unused = STORE_ONLY_SETTINGS.map((name) => sources[name]).filter(({ from }) => from !== "default");
    if (unused.length === 0) return;
    const names = unused.map(({ name }) => name).join(", ");
    this.output.warn(`millrace: ${names} not used: ${maskUrl(server)} opens the store, so set it on the server`);
  }

  async #connection(other?: string): Promise<[url: string, options: ConnectOptions]> {
    const { config } = await this.settings(...CLIENT_SETTINGS);
    const url = other ?? config.url;
    const options = isServerUrl(url) ? serverOptions(config.apiKey) : { ...clientOptions(config), actor: systemUser() };
    // A command that runs jobs shows itself what became of them.
    const onTrouble: OnTrouble = ({ kind, message }) => (kind === "dead" ? undefined : this.output.warn(`millrace: ${message}`));
    return [url, { ...options, onTrouble }];
  }

  async #findSources(): Promise<ConfigSources> {
    const { flags, config, envFile } = this.#places;
    const { file, warnings } = await loadConfigFile(this.terminal.cwd, config);
    for (const warning of warnings) this.output.warn(`millrace: ${warning}`);
    const env = { ...this.#readEnvFile(envFile), ...this.terminal.env };
    for (const { name, meant } of misspelled(env)) this.output.warn(`millrace: ${name} is not a setting; did you mean ${meant}?`);
    return { flags, env, file };
  }

  #readEnvFile(named: string | undefined): Record<string, string | undefined> {
    if (named === undefined) return {};
    const path = resolve(this.terminal.cwd, named);
    if (!existsSync(path)) throw new CommandRefused(`--env-file ${named}: there is no such file`);
    return parseEnv(readFileSync(path, "utf8"));
  }
}

/** A server has its own defaults for jobs, so only the key is passed. */
function serverOptions([key]: readonly string[]): ConnectOptions {
  return key === undefined ? {} : { apiKey: secretOf(key) };
}

/** Who makes the changes of a command, unless a server knows it. */
function systemUser(): string {
  try {
    return `cli:${userInfo().username}`.slice(0, MAX_ACTOR_LENGTH);
  } catch {
    // In a container, the user may have no name.
    return "cli";
  }
}

/** API_KEY of a server is `name:scope+scope:secret`; a client sends only the secret. */
function secretOf(key: string): string {
  return /^[^:]+:[a-z+]+:(.+)$/.exec(key)?.[1] ?? key;
}
