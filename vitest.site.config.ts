import { defineConfig } from 'vitest/config';
import { reportersOf } from './vitest.shared.js';

/** The built site in a real browser: `npm run test:site`. */
export default defineConfig({
  test: {
    include: ['test/site/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 900_000,
    hookTimeout: 900_000,
    reporters: reportersOf('site'),
  },
});
