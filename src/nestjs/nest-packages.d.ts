/**
 * WHAT WE USE OF NEST, for our own compiler only: Nest is an optional peer, and not installed here. This file is not in the package: there,
 * our types name Nest's own. test/e2e/package.test.ts compiles programs with those.
 */
declare module "@nestjs/common" {
  export type InjectionToken = string | symbol | (abstract new (...args: never) => unknown);

  export interface FactoryProvider {
    provide: InjectionToken;
    useFactory: (...args: any[]) => unknown; // oxlint-disable-line no-explicit-any -- as Nest declares it: the tokens of `inject` decide
    inject?: InjectionToken[];
  }

  export interface ModuleMetadata {
    imports?: (DynamicModule | (new (...args: never) => unknown))[];
  }

  export interface DynamicModule extends ModuleMetadata {
    module: new () => unknown;
    global?: boolean;
    providers?: FactoryProvider[];
    exports?: InjectionToken[];
  }

  export function Inject(token: InjectionToken): PropertyDecorator & ParameterDecorator;
}

declare module "@nestjs/core" {
  interface InstanceWrapper {
    readonly name: unknown;
    /** Undefined or null if there is none. */
    readonly instance: unknown;
    readonly isTransient: boolean;
    /** False if it is made anew for each request. */
    isDependencyTreeStatic(): boolean;
  }

  interface NestModule {
    readonly providers: ReadonlyMap<unknown, InstanceWrapper>;
    readonly controllers: ReadonlyMap<unknown, InstanceWrapper>;
  }

  /** Every module of an application. */
  export class ModulesContainer extends Map<string, NestModule> {}
}
