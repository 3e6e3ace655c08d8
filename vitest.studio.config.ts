import { defineConfig } from 'vitest/config';
import { BUILT_BY_NODE, built, reportersOf } from './vitest.shared.js';

/** The studio in Debian's Chromium (test/browser/install-chromium.sh; or CHROMIUM, another one): `npm run test:studio`. */
export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: ['test/studio/*.spec.ts'],
    globalSetup: ['test/proof/fresh-build.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 600_000,
    // A page of a busy machine takes its time.
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 600_000,
    reporters: reportersOf('studio'),
  },
});
