import { defineConfig } from 'vitest/config';
import { reportersOf } from './vitest.shared.js';

/** The suites that need a secured HBase: `npm run test:hbase:secure`. They start a KDC and servers of their own. */
export default defineConfig({
  test: {
    include: ['test/hbase-secure/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    reporters: reportersOf('hbase-secure'),
  },
});
