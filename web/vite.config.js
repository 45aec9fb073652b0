import { defineConfig } from 'vite';

// The page's Content-Security-Policy. The code that users run is a module created from a blob, in a Worker created from
// a blob, which is subject to this policy too: it can reach only this page's own origin.
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval' blob:",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const policy = {
  name: 'content-security-policy',
  apply: 'build',
  transformIndexHtml: (html) =>
    html.replace('<meta name="viewport"', `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />\n    <meta name="viewport"`),
};

export default defineConfig({
  // The page works in any folder.
  base: './',
  plugins: [policy],
  // The package `dynatwin` is linked, and lies beside this folder.
  // The server answers pages from this port (`PLAYGROUND_PORT` in harness/server).
  server: { port: 5190, strictPort: true, fs: { allow: ['..'] } },
  preview: { port: 5190, strictPort: true },
  worker: { format: 'es' },
  build: { target: 'es2023', chunkSizeWarningLimit: 1000, modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
});
