import { existsSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { SCALE } from './test/proof/scale.js';
import { BUILT_BY_NODE, built, reportersOf } from './vitest.shared.js';

const HOUR = 3_600_000;

/** Linux' file system in memory, where there is enough of it: waiting for a disk finds no fault. The longer runs use the disk. */
function folderInMemory(): { TMPDIR?: string } {
  if (SCALE !== 'short' || !existsSync('/dev/shm')) return {};
  const { bavail, bsize } = statfsSync('/dev/shm');
  return bavail * bsize > 4 * 2 ** 30 ? { TMPDIR: '/dev/shm' } : {};
}

export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/hbase/**',
      // These need Google's emulator of Bigtable: `npm run test:bigtable`.
      'test/bigtable/**',
      // These need a JVM: `npm run test:serve`.
      'test/hbase-served/**',
      // These need a KDC and a secured HBase: `npm run test:hbase:secure`.
      'test/hbase-secure/**',
      // These need the built site and Chromium: `npm run test:site`.
      'test/site/**',
      'test/bench/**',
      '**/node_modules/**',
      // What tests of the docs write and run themselves.
      '**/.cache/**',
      ...(SCALE === 'short' ? ['**/*.middle.test.ts'] : []),
      ...(SCALE === 'deep' ? [] : ['**/*.deep.test.ts']),
    ],
    globalSetup: ['test/proof/fresh-build.ts'],
    setupFiles: ['test/proof/setup.ts'],
    pool: 'forks',
    // The invariants of the store are held at every step (src/store/invariant.ts).
    env: { ROWAN_INVARIANTS: '1', ...folderInMemory() },
    // Half of the time would go into loading the same modules for each file. So a file leaves no listener, no mock and no
    // setting of the process behind.
    isolate: false,
    // Short tests run most code too rarely for its optimization to pay: that took a fifth of their CPU time. The longer runs
    // optimize as programs do. Node 22 and later refuse the option.
    execArgv: SCALE === 'short' && process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : [],
    // `npm test` is measured with two cores. A third worker works while others wait for lives to end and processes to start.
    maxWorkers: 3,
    // Only what hangs is to fail by it: a busy machine is no fault.
    testTimeout: SCALE === 'deep' ? 4 * HOUR : HOUR / 6,
    hookTimeout: SCALE === 'deep' ? HOUR : HOUR / 6,
    reporters: reportersOf(process.env['ROWAN_SUITE'] ?? (SCALE === 'middle' ? 'middle' : 'unit')),
  },
});
