import { defineConfig } from 'vitest/config';

/** Needs a JDK and Maven: `npm run test:avro-java`. */
export default defineConfig({
  test: {
    include: ['test/codec/avro-java/*.spec.ts'],
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
