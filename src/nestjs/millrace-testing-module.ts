import type { DynamicModule } from "@nestjs/common";
import { ModulesContainer } from "@nestjs/core";
import type { TestClient, TestClientOptions } from "../testing/index.ts";
import { handlersIn } from "./job-handler.ts";
import { clientToken } from "./tokens.ts";

/** Options of the module for tests: those of `createTestClient`. */
export interface MillraceTestingModuleOptions extends TestClientOptions {
  /** That of the module which it replaces, if the application has several. */
  readonly name?: string | undefined;
}

const LIFECYCLE: unique symbol = Symbol("MILLRACE_LIFECYCLE");

/**
 * In the place of MillraceModule in tests: the client is that of `millrace/testing`, in memory. Jobs run only in `client.drain()`, which takes the
 * methods with `@JobHandler` unless you give it other handlers.
 */
// oxlint-disable-next-line no-extraneous-class -- Nest knows a module by its class
export class MillraceTestingModule {
  /** Takes the options of `createTestClient`. */
  static forRoot({ name, ...options }: MillraceTestingModuleOptions = {}): DynamicModule {
    const token = clientToken(name);
    return {
      module: MillraceTestingModule,
      global: true,
      providers: [
        {
          provide: token,
          inject: [ModulesContainer],
          useFactory: (modules: ModulesContainer) => openTestClient(options, () => handlersIn(modules, name)),
        },
        {
          provide: LIFECYCLE,
          inject: [token],
          useFactory: (client: TestClient) => ({ onApplicationShutdown: () => client.close() }),
        },
      ],
      exports: [token],
    };
  }
}

async function openTestClient(options: TestClientOptions, found: () => ReturnType<typeof handlersIn>): Promise<TestClient> {
  const { createTestClient } = await import("../testing/index.ts");
  const client = await createTestClient(options);
  const drain = client.drain.bind(client);
  // Searched at each drain: a testing module that was compiled, but not initialized, has its providers too.
  return Object.assign(client, {
    drain: (handlers?: Parameters<typeof drain>[0]) => drain(handlers ?? ifAny(found())),
  });
}

/** None means those of started workers. */
function ifAny(handlers: ReturnType<typeof handlersIn>): typeof handlers | undefined {
  return handlers.length === 0 ? undefined : handlers;
}
