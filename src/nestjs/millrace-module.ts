import type { DynamicModule, FactoryProvider, ModuleMetadata } from "@nestjs/common";
import { ModulesContainer } from "@nestjs/core";
import {
  type Client,
  connect,
  type ConnectOptions,
  MillraceError,
  type OwnConnection,
  type WorkerHandle,
  type WorkOptions,
} from "../index.ts";
import type { Server, ServerOptions } from "../server.ts";
import { handlersIn } from "./job-handler.ts";
import { clientToken, serverToken } from "./tokens.ts";

/** Options of the module: those of `connect`, and what runs in this process. */
export interface MillraceModuleOptions extends ConnectOptions {
  /** What `connect` opens: a URL, or a connection of your application. Without one, the application does not start. */
  readonly url?: string | OwnConnection | undefined;
  /**
   * Whether the methods with `@JobHandler` run jobs in this process; options are for their worker. Default: false, so that a process that only
   * answers requests runs no jobs.
   */
  readonly worker?: boolean | WorkOptions | undefined;
  /** Whether there is a server to mount, at `MILLRACE_SERVER`; options are those of `createServer`. Default: false. */
  readonly server?: boolean | ServerOptions | undefined;
}

/** What tells the modules of an application apart. */
interface Named {
  /** For a second store: `@InjectClient(name)` injects its client, and handlers with `client: name` run its jobs. Default: none. */
  readonly name?: string | undefined;
}

/** Options that a factory makes of other providers, such as those of a configuration module. */
export interface MillraceModuleAsyncOptions extends Named {
  /** Modules that export what is injected. */
  readonly imports?: ModuleMetadata["imports"];
  /** The tokens of the factory's arguments. */
  readonly inject?: FactoryProvider["inject"];
  readonly useFactory: (...args: any[]) => MillraceModuleOptions | Promise<MillraceModuleOptions>; // oxlint-disable-line no-explicit-any -- `inject` decides
}

const OPTIONS: unique symbol = Symbol("MILLRACE_OPTIONS");
const LIFECYCLE: unique symbol = Symbol("MILLRACE_LIFECYCLE");

/**
 * The module for NestJS. Import it once for each store, in the root module: every module can then inject the client. It connects when the
 * application is made, starts the worker when all modules are ready, and ends with the application.
 */
// oxlint-disable-next-line no-extraneous-class -- Nest knows a module by its class
export class MillraceModule {
  /** With options that are known. */
  static forRoot({ name, ...options }: MillraceModuleOptions & Named = {}): DynamicModule {
    return MillraceModule.forRootAsync({ name, useFactory: () => options });
  }

  /** With options that a factory makes. */
  static forRootAsync({ name, imports = [], inject = [], useFactory }: MillraceModuleAsyncOptions): DynamicModule {
    const client = clientToken(name);
    const server = serverToken(name);
    return {
      module: MillraceModule,
      global: true,
      imports,
      providers: [
        { provide: OPTIONS, inject, useFactory },
        { provide: client, inject: [OPTIONS], useFactory: openClient },
        { provide: server, inject: [OPTIONS, client], useFactory: makeServer },
        {
          provide: LIFECYCLE,
          inject: [OPTIONS, client, server, ModulesContainer],
          useFactory: (options: MillraceModuleOptions, ...parts: OwnParts) => new Lifecycle({ ...options, name }, ...parts),
        },
      ],
      exports: [client, server],
    };
  }
}

type OwnParts = [Client, Server | null, ModulesContainer];

async function openClient({ url, worker: _worker, server: _server, ...options }: MillraceModuleOptions): Promise<Client> {
  return connect(url, options);
}

/** Its code is loaded only if there is one. */
async function makeServer({ server = false }: MillraceModuleOptions, client: Client): Promise<Server | null> {
  if (server === false) return null;
  const { createServer } = await import("../server.ts");
  return createServer(client, server === true ? {} : server);
}

/** Nest calls these methods in the life of the application. */
class Lifecycle {
  readonly #options: MillraceModuleOptions & Named;
  readonly #client: Client;
  readonly #server: Server | null;
  readonly #modules: ModulesContainer;
  #worker: WorkerHandle | null = null;

  constructor(options: MillraceModuleOptions & Named, ...[client, server, modules]: OwnParts) {
    this.#options = options;
    this.#client = client;
    this.#server = server;
    this.#modules = modules;
  }

  onApplicationBootstrap(): void {
    const { worker = false, name } = this.#options;
    if (worker === false) return;
    const handlers = handlersIn(this.#modules, name);
    if (handlers.length === 0) throw new MillraceError("invalid_input", noHandlers(name), { field: "worker" });
    this.#worker = this.#client.work(handlers, worker === true ? {} : worker);
  }

  /**
   * Before Nest closes its HTTP server, which waits for the live streams of ours; and before other modules close their databases, which running
   * jobs use.
   */
  async beforeApplicationShutdown(): Promise<void> {
    const stopped = await Promise.allSettled([this.#worker?.stop(), this.#server?.close()]);
    for (const each of stopped) {
      if (each.status === "fulfilled") continue;
      // Nest 11 calls no more hooks after an error.
      await this.#client.close();
      throw each.reason;
    }
  }

  /** After the last request: it may have enqueued something. */
  async onApplicationShutdown(): Promise<void> {
    await this.#client.close();
  }
}

function noHandlers(name: string | undefined): string {
  const decorator = name === undefined ? "@JobHandler" : `@JobHandler(…, { client: "${name}" })`;
  return `worker is set, but no provider has a method with ${decorator}: add one, or leave worker out`;
}
