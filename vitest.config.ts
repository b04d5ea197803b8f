import { defineConfig } from 'vitest/config';
import { mutantPlugin } from './scripts/contract/mutant-plugin.js';

export default defineConfig({
  plugins: [mutantPlugin(import.meta.dirname)],
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/mariadb-setup.ts'],
    // Most of a run is waiting: for a disk, a lease, a process that starts.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
