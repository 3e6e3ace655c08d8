import { defineConfig } from 'vitest/config';
import { SCALE } from './test/proof/scale.js';
import { reportersOf } from './vitest.shared.js';

const HOUR = 3_600_000;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/hbase/**',
      // These need a KDC and a secured HBase: `npm run test:hbase:secure`.
      'test/hbase-secure/**',
      'test/bench/**',
      '**/node_modules/**',
      // What tests of the docs write and run themselves.
      '**/.cache/**',
      ...(SCALE === 'deep' ? [] : ['**/*.deep.test.ts']),
    ],
    pool: 'forks',
    // The invariants of the store are held at every step (src/store/invariant.ts).
    env: { ROWAN_INVARIANTS: '1' },
    // Half of the time would go into loading the same modules for each file. So a file leaves no listener, no mock and no
    // setting of the process behind.
    isolate: false,
    // What `npm test` is measured with: two cores. More workers would only wait for each other's compilers and disks.
    maxWorkers: 2,
    // Only what hangs is to fail by it: a busy machine is no fault.
    testTimeout: SCALE === 'deep' ? 4 * HOUR : HOUR / 6,
    hookTimeout: SCALE === 'deep' ? HOUR : HOUR / 6,
    reporters: reportersOf('unit'),
  },
});
