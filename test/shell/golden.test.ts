import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { goldenOf, rowanSteps, scriptOf } from './golden.js';
import { stepsOf } from './transcript.js';

let timeZone: string | undefined;
beforeEach(() => {
  timeZone = process.env['TZ'];
  process.env['TZ'] = 'UTC';
});
afterEach(() => {
  if (timeZone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = timeZone;
});

/** Of a script for clusters: what the embedded engine has as well. */
const NAMESPACES = /_namespace /;

test('the embedded engine answers the statements about properties of namespaces as the shell of HBase did', async () => {
  const engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
  try {
    const golden = goldenOf('cluster').filter(({ statement }) => NAMESPACES.test(statement));
    expect(golden).toHaveLength(7);
    const lines = scriptOf('cluster').split('\n');
    const script = lines.filter((line) => NAMESPACES.test(line)).join('\n');
    expect(await rowanSteps(engine, `${script}\nexit\n`)).toEqual(expect.arrayContaining(golden));
  } finally {
    await engine.close();
  }
});

test('the embedded engine answers the statements about snapshots as the shell of HBase did', async () => {
  const engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
  try {
    const script = scriptOf('cluster').split('\n');
    const end = script.findIndex((line) => line.startsWith('create_namespace'));
    const answered = await rowanSteps(engine, `${script.slice(0, end).join('\n')}\nexit\n`);
    const golden = goldenOf('cluster').slice(0, end);
    expect(golden.length).toBeGreaterThan(30);
    expect(answered.slice(0, end)).toEqual(golden);
  } finally {
    await engine.close();
  }
});

test('merge_region makes one region of neighbors on the embedded engine, and answers unknown regions as the shell of HBase did', async () => {
  const engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
  try {
    await rowanSteps(engine, "create 't', 'f', SPLITS => ['g', 'p']\nput 't', 'h', 'f:q', 'v'\nexit\n");
    const [first, second] = (await engine.admin.getRegions('t')).map(({ name }) => name);
    const script = [
      `merge_region '${first}', '${second}'`,
      "get_splits 't'",
      "get 't', 'h', 'f:q', {}",
      `merge_region '${first}', '${second}'`,
      "merge_region 'a', 'b'",
      'exit\n',
    ].join('\n');
    const answers = await rowanSteps(engine, script);
    expect(answers[0]!.output).toBe('Took TIME');
    expect(answers[1]!.output).toMatch(/^Total number of splits = 2\np\n/);
    expect(answers[3]!.output).toContain(`ERROR: Can't invoke merge on unknown region ${first}`);
    const statement = "merge_region 'a', 'b'";
    expect(answers[4]).toEqual(goldenOf('cluster').find((step) => step.statement === statement));
  } finally {
    await engine.close();
  }
});

test.each([
  ['tables', 150],
  ['rows', 300],
  ['forms', 130],
] as const)(
  'the embedded engine answers every statement of %s.rb as the shell of HBase did',
  async (name, least) => {
    const engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
    try {
      const golden = goldenOf(name);
      expect(golden.length).toBeGreaterThan(least);
      expect(await rowanSteps(engine, scriptOf(name))).toEqual(golden);
    } finally {
      await engine.close();
    }
  },
);

test('a line of the log before the statement that the shell repeats is no part of its answer', () => {
  const answer = "scan 'a'\nROW  COLUMN+CELL\n0 row(s)\n";
  const log = '2026-11-28T02:30:00,123 WARN  [main] client.Scan: slow\n';
  const steps = [{ statement: "scan 'a'", output: 'ROW  COLUMN+CELL\n0 row(s)' }];
  for (const before of ['', log])
    expect(stepsOf(`hbase:001:0> ${before}${answer}`, "scan 'a'\n")).toEqual(steps);
});
