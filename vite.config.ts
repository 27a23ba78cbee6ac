/** How the dashboard's page is built: static files that can be served under any path, without a rebuild. */
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const outDir = fileURLToPath(new URL("dist/dashboard", import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL("src/dashboard", import.meta.url)),
  // Relative: the server says where the page is by its <base>, and everything else is found from there.
  base: "./",
  plugins: [react(), tailwind(), mountedAtRoot(), compressed()],
  build: {
    outDir,
    emptyOutDir: true,
    // A picture inside a script or style would be a data: address, which the page's policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Few files at the first load: what every page needs, in two that change at different times. Each page is then a file of its own.
          groups: [
            { name: "libraries", test: /node_modules.(react|react-dom|scheduler|@tanstack)[\\/]/ },
            { name: "popups", test: /node_modules.(@base-ui|@floating-ui)[\\/]/ },
            {
              name: "frame",
              test: /src.(core|http|lib|client)[\\/]|src.dashboard.(frame.(?!shortcut)|parts.(?!line-chart|suggest|json)|[\w-]+\.tsx?$)/,
            },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    // `npm run dashboard` shows the page with the data of a server that runs beside it. That server takes changes only from pages of its own
    // name, so the name that the browser used goes through.
    proxy: { "/api/": { target: process.env["MILLRACE_URL"] ?? "http://127.0.0.1:8080", changeOrigin: false } },
  },
});

/** While one works on the page nobody writes its mount into it: it is at the root. */
function mountedAtRoot(): Plugin {
  return { name: "mounted-at-root", apply: "serve", transformIndexHtml: (html) => html.replace('<base href="./" />', '<base href="/" />') };
}

/** Below this a file is one packet anyway. */
const MIN_COMPRESSED_BYTES = 1024;

/**
 * Leaves files compressed, in both ways that callers read, for the server to send. The package is as large as it may be, so the file itself is
 * not kept: the server makes it of the other for those who read neither. Not the page: the server writes its mount into it first.
 */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (!entry.isFile() || !/\.(js|css|svg)$/.test(file)) continue;
        const bytes = readFileSync(file);
        if (bytes.byteLength < MIN_COMPRESSED_BYTES) continue;
        writeFileSync(`${file}.br`, brotliCompressSync(bytes));
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        rmSync(file);
      }
    },
  };
}
