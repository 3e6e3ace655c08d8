import { defineConfig } from 'vitest/config';
import { BUILT_BY_NODE, built, ON_ENGINES, reportersOf } from './vitest.shared.js';

/** The suites on the emulator of Google Cloud Bigtable: `npm run test:bigtable`. The first run builds it, which needs Go. */
export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: ['test/bigtable/**/*.test.ts', ...ON_ENGINES],
    globalSetup: ['test/proof/fresh-build.ts', 'test/bigtable/global-setup.ts'],
    pool: 'forks',
    fileParallelism: false,
    // Google's client looks for the server of a virtual machine in Google's cloud.
    env: { METADATA_SERVER_DETECTION: 'none' },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: reportersOf('bigtable'),
  },
});
