import { defineConfig } from 'vite';

export default defineConfig({
  // The page works from any folder it is put into.
  base: './',
  // The package `dynatwin` is linked, and lies beside this folder.
  // The server answers pages from this port (`PLAYGROUND_PORT` in harness/server).
  server: { port: 5190, strictPort: true, fs: { allow: ['..'] } },
  preview: { port: 5190, strictPort: true },
  build: { target: 'es2023', chunkSizeWarningLimit: 1000 },
});
