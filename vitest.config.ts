import { defineConfig } from 'vitest/config';
import { SCALE } from './test/proof/scale.js';
import { reportersOf } from './vitest.shared.js';

const HOUR = 3_600_000;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/hbase/**',
      'test/bench/**',
      '**/node_modules/**',
      ...(SCALE === 'deep' ? [] : ['**/*.deep.test.ts']),
    ],
    pool: 'forks',
    // The invariants of the store are held at every step (src/store/invariant.ts).
    env: { ROWAN_INVARIANTS: '1' },
    // What `npm test` is measured with: two cores. More workers would only wait for each other's compilers and disks.
    maxWorkers: 2,
    testTimeout: SCALE === 'deep' ? 4 * HOUR : 60_000,
    hookTimeout: SCALE === 'deep' ? HOUR : 60_000,
    reporters: reportersOf('unit'),
  },
});
