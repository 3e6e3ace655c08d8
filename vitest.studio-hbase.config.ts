import hbase from './vitest.hbase.config.js';

/** The studio's page over a real HBase, in Debian's Chromium: `npm run test:studio:hbase`. */
export default {
  ...hbase,
  test: { ...hbase.test, include: ['test/hbase/studio-page.spec.ts'] },
};
