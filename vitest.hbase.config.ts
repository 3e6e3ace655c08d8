import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LEFT_OUT, testsLeftOut } from './test/hbase/server/left-out.js';
import { BUILT_BY_NODE, built, ON_ENGINES, reportersOf } from './vitest.shared.js';

const escaped = testsLeftOut().map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));

/** What takes more than a minute. */
const LONGEST = [
  'hbase/chaos/servers',
  'hbase/conformance',
  'hbase/late/late-requests',
  'hbase/shell',
  'hbase/rekey/kill',
  'hbase/cookbook',
  'hbase/rekey/rest',
  'repository/dictionaries',
  'hbase/chaos/starts',
  'indexes/indexes',
  'hbase/indexes/eventual',
  'hbase/differential/differential',
  'hbase/crossed/crossed',
].map((name) => `/test/${name}.test.ts`);

/** The longest first, so that none runs when all others have ended. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

/** The suites without those that cannot run on `rowan serve`. */
const SERVED = {
  exclude: LEFT_OUT.filter(({ tests }) => tests === undefined).map(({ file }) => `test/hbase/${file}`),
  testNamePattern: new RegExp(`^(?!.*(?:${escaped.join('|')})(?: |$))`),
};

/** The suites that need a real HBase: `npm run test:hbase`. On an embedded store behind `rowan serve`: `npm run test:hbase:served`. */
export default defineConfig({
  plugins: [built],
  test: {
    server: BUILT_BY_NODE,
    include: [
      'test/hbase/**/*.test.ts',
      ...ON_ENGINES,
      'test/query/downsample.test.ts',
      'test/query/related-tests.test.ts',
    ],
    ...(process.env['ROWAN_HBASE'] === 'served' ? SERVED : {}),
    globalSetup: ['test/proof/fresh-build.ts', 'test/hbase/global-setup.ts'],
    setupFiles: ['test/proof/setup.ts'],
    pool: 'forks',
    // Modules are loaded once for each worker, as `npm test` has it.
    isolate: false,
    // They mostly wait for HBase, each worker for one of its own; the chaos suites start theirs beside it.
    maxWorkers: process.env['ROWAN_HBASE'] === undefined ? 3 : 1,
    sequence: { sequencer: LongestFirst },
    // Cases of one suite that wait for the server do so side by side.
    maxConcurrency: 12,
    // Suites wait for conditions, and say which did not come; these only end what hangs. The longest case takes about half
    // a minute, several times that on a busy machine.
    testTimeout: 900_000,
    // A page of a busy machine takes its time.
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 900_000,
    reporters: reportersOf('hbase'),
  },
});
