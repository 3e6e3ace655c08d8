import { defineConfig } from 'vitest/config';
import { BUILT_BY_NODE, built, reportersOf } from './vitest.shared.js';

/** Stores served to HBase's own shell and Java client: `npm run test:serve`. Needs a JDK and Maven. */
export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: ['test/hbase-served/**/*.test.ts'],
    globalSetup: ['test/proof/fresh-build.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 900_000 + 15 * Number(process.env['ROWAN_KEYS'] ?? 0),
    hookTimeout: 300_000,
    reporters: reportersOf('serve'),
  },
});
