import { defineConfig } from 'vite';

export default defineConfig({
  // The page works from any folder it is put into.
  base: './',
  // The package `dynatwin` is linked, and lies beside this folder.
  server: { fs: { allow: ['..'] } },
  build: { target: 'es2023', chunkSizeWarningLimit: 1000 },
});
