// @ts-nocheck: two of the modules that it imports have no types, as in what Prisma generates.
/**
 * What `prisma generate` writes for a schema without models, less its types. The command itself downloads a program that tests may not need the
 * internet for; the runtime, the query compiler and the driver adapter are the real ones.
 */
import * as runtime from "@prisma/client/runtime/client";

export const PrismaClient = runtime.getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "",
  activeProvider: "postgresql",
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: async () => import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs");
      return new WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_fast_bg.js",
  },
});
