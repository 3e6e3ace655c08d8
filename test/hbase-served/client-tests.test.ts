/**
 * HBase's own client tests on a served store. Its test jar has them; `java/` has the class by which they start a cluster, which
 * starts none. The tests that cannot pass are those of the table in docs/server.md, with the reason of each.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { classPath, run } from '../hbase/server/class-path.js';
import { MODULE_FLAGS, TOOL_PATIENCE } from '../hbase/server/jvm.js';
import { PROJECT_ROOT } from '../hbase/server/layout.js';
import { record } from '../proof/evidence.js';
import { ServedStore } from './served-store.js';

const CLASSES = [
  'TestAppendFromClientSide',
  'TestCheckAndMutate',
  'TestCheckAndMutateWithByteBuff',
  'TestFromClientSide',
  'TestFromClientSide3',
  'TestFromClientSide4',
  'TestFromClientSide5',
  'TestFromClientSideNoCodec',
  'TestIncrementsFromClientSide',
  'TestScannersFromClientSide',
  'TestScannersFromClientSide2',
];

/** Names of JUnit's categories that the classes have; the jar that holds them is not published. */
const CATEGORIES = ['Small', 'Medium', 'Large', 'Client', 'Coprocessor'];

/** What became of the runs of one test: with each registry of the client, if the class has parameters. */
interface Outcome {
  passed: number;
  skipped: number;
  readonly failures: string[];
}

let folder: string;
let jars: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-client-tests-'));
  const paths = [await classPath('bench'), await classPath('client-tests'), await classPath('server')];
  jars = [folder, ...paths].join(delimiter);
  const sources = ['HBaseTestingUtility', 'MiniHBaseCluster', 'RunClientTests'].map((name) =>
    join(PROJECT_ROOT, 'test/hbase-served/java', `${name}.java`),
  );
  const package_ = 'org.apache.hadoop.hbase.testclassification';
  mkdirSync(join(folder, 'categories'));
  for (const name of CATEGORIES) {
    const source = join(folder, 'categories', `${name}Tests.java`);
    writeFileSync(source, `package ${package_};\n\npublic interface ${name}Tests {}\n`);
    sources.push(source);
  }
  const flags = ['-Xlint:all,-processing,-path,-classfile', '-Werror', '-cp', jars, '-d', folder];
  const { code, output } = await run('javac', [...flags, ...sources]);
  if (code !== 0) throw new Error(`javac ended with code ${code}:\n${output}`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs one class, in a JVM and on a store of its own. */
async function outcomesOf(name: string): Promise<Map<string, Outcome>> {
  const store = await ServedStore.start();
  try {
    const layout = await store.layout('bootstrap', {
      ...store.settings('masters'),
      ...store.settings('zookeeper'),
    });
    const args = ['-Xmx1g', '-Djava.net.preferIPv4Stack=true', `-Djava.io.tmpdir=${layout.tmp}`];
    const paths = [layout.conf, jars].join(delimiter);
    const { output } = await run(
      'java',
      [...MODULE_FLAGS, ...args, '-cp', paths, 'RunClientTests', `org.apache.hadoop.hbase.client.${name}`],
      process.env,
      '',
      TOOL_PATIENCE,
    );
    const outcomes = parsed(output);
    if (outcomes.size === 0) throw new Error(`${name} ran no test:\n${output.slice(-4000)}`);
    return outcomes;
  } finally {
    await store.stop();
  }
}

function parsed(output: string): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const line of output.split('\n')) {
    const [mark, outcome, name, why] = line.split('\t');
    if (mark !== 'TEST') continue;
    const test = /^\w*/.exec(name!)![0];
    const known = outcomes.get(test) ?? { passed: 0, skipped: 0, failures: [] };
    outcomes.set(test, known);
    if (outcome === 'passed') known.passed++;
    else if (outcome === 'skipped') known.skipped++;
    else known.failures.push(why!);
  }
  return outcomes;
}

/** The tests of a class that docs/server.md names as such that do not pass. */
function exceptionsOf(name: string): string[] {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/server.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith(`| \`${name}\` |`));
  return rows.flatMap((row) => [...row.matchAll(/`(test\w+)`/g)].map(([, test]) => test!)).sort();
}

describe("HBase's own client tests on a served store", () => {
  it.each(CLASSES)('%s passes, but for what docs/server.md names', async (name) => {
    const outcomes = await outcomesOf(name);
    const failed = [...outcomes].filter(([, { failures }]) => failures.length > 0);
    const expected = exceptionsOf(name);
    const unexpected = failed.filter(([test]) => !expected.includes(test));
    expect(unexpected.map(([test, { failures }]) => `${test}: ${failures[0]}`)).toEqual([]);
    expect(failed.map(([test]) => test).sort()).toEqual(expected);
    const passed = [...outcomes.values()].reduce((sum, each) => sum + each.passed, 0);
    record('served-client-tests', {
      classes: 1,
      'tests passed': passed,
      'tests that docs/server.md names': expected.length,
    });
  });
});
