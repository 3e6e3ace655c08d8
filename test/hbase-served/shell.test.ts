import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTypedShell } from '../hbase/server/shell.js';
import { goldenOf, type ScriptName, scriptOf } from '../shell/golden.js';
import { type Step, stepsOf } from '../shell/transcript.js';
import { ServedStore } from './served-store.js';

process.env['TZ'] = 'UTC';

/** Refusals whose class is HBase's, and whose words behind these are the store's own: it says more, or of all problems at once. */
const OWN_WORDS = [
  /^ERROR: org\.apache\.hadoop\.hbase\.DoNotRetryIOException: (?=.*(?:hbase\.table\.sanity\.checks|; it is an integer from| is above versions ))/,
  /^ERROR: org\.apache\.hadoop\.hbase\.DoNotRetryIOException: (?=Cannot specify any column for a raw scan|A raw scan cannot name columns)/,
];

/** Java prints the options of a family in the order of a hash. */
const FAMILY = /^\{NAME => .*\}$/;

function comparable({ statement, output }: Step): Step {
  const lines = output.split('\n').map((line) => {
    if (FAMILY.test(line)) return line.replace(/[{}]/g, '').split(', ').sort().join(', ');
    return OWN_WORDS.map((pattern) => pattern.exec(line)?.[0]).find((match) => match !== undefined) ?? line;
  });
  return { statement, output: lines.join('\n') };
}

describe("HBase's own shell on a served store", () => {
  let store: ServedStore;
  beforeAll(async () => {
    store = await ServedStore.start();
  });
  afterAll(() => store.stop());

  it.each<ScriptName>(['tables', 'rows', 'forms', 'cluster'])(
    'prints of %s.rb what it prints on HBase',
    async (name) => {
      const layout = await store.layout('masters');
      const script = scriptOf(name);
      const output = await runTypedShell(layout, script, 'y\n'.repeat(50));
      expect(stepsOf(output, script).map(comparable)).toEqual(goldenOf(name).map(comparable));
    },
  );
});
