import { defineConfig } from 'vitest/config';

/** Needs PostgreSQL's programs (`apt-get install postgresql`; or PG_BIN, the folder of initdb and postgres): `npm run test:sql`. */
export default defineConfig({
  test: {
    include: ['test/job/sql/*.spec.ts'],
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
