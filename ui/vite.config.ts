import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  // Served from inside the binary: everything relative, nothing fetched from elsewhere.
  base: './',
  server: { host: '127.0.0.1', port: 5173, strictPort: true },
  build: { target: 'safari16', assetsInlineLimit: 0, reportCompressedSize: true },
  test: {
    environment: 'jsdom',
    setupFiles: ['src/testing/setup.ts'],
    include: ['src/**/*.test.ts'],
    testTimeout: 20_000,
  },
});
