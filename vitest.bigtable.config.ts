import { defineConfig } from 'vitest/config';
import { BUILT_BY_NODE, built, reportersOf } from './vitest.shared.js';

/** The suites on the emulator of Google Cloud Bigtable: `npm run test:bigtable`. The first run builds it, which needs Go. */
export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: [
      'test/bigtable/**/*.test.ts',
      // Suites of all engines.
      'test/decorators/on-the-engine.test.ts',
      'test/indexes/indexes.test.ts',
      'test/indexes/model.test.ts',
      'test/query/entity-query.test.ts',
      'test/query/key-ranges.test.ts',
      'test/repository/*.test.ts',
    ],
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
