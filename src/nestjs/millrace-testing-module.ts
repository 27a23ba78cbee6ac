import type { DynamicModule } from "@nestjs/common";
import { ModulesContainer } from "@nestjs/core";
import type { TestClient, TestClientOptions } from "../testing/index.ts";
import { handlersIn } from "./job-handler.ts";
import { MILLRACE_CLIENT } from "./tokens.ts";

const LIFECYCLE: unique symbol = Symbol("MILLRACE_LIFECYCLE");

/**
 * In the place of MillraceModule in tests: the client is that of `millrace/testing`, in memory. Jobs run only in `client.drain()`, which takes the
 * methods with `@JobHandler` unless you give it other handlers.
 */
// oxlint-disable-next-line no-extraneous-class -- Nest knows a module by its class
export class MillraceTestingModule {
  /** Takes the options of `createTestClient`. */
  static forRoot(options: TestClientOptions = {}): DynamicModule {
    return {
      module: MillraceTestingModule,
      global: true,
      providers: [
        {
          provide: MILLRACE_CLIENT,
          inject: [ModulesContainer],
          useFactory: (modules: ModulesContainer) => openTestClient(options, modules),
        },
        {
          provide: LIFECYCLE,
          inject: [MILLRACE_CLIENT],
          useFactory: (client: TestClient) => ({ onApplicationShutdown: () => client.close() }),
        },
      ],
      exports: [MILLRACE_CLIENT],
    };
  }
}

async function openTestClient(options: TestClientOptions, modules: ModulesContainer): Promise<TestClient> {
  const { createTestClient } = await import("../testing/index.ts");
  const client = await createTestClient(options);
  const drain = client.drain.bind(client);
  // Searched at each drain: a testing module that was compiled, but not initialized, has its providers too.
  return Object.assign(client, {
    drain: (handlers?: Parameters<typeof drain>[0]) => drain(handlers ?? allHandlersIn(modules)),
  });
}

/** None means those of started workers. */
function allHandlersIn(modules: ModulesContainer): ReturnType<typeof handlersIn> | undefined {
  const handlers = handlersIn(modules);
  return handlers.length === 0 ? undefined : handlers;
}
