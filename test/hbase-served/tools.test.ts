/** HBase 2.6.4's own load generators on a served store. `ROWAN_KEYS` is the number of keys of LoadTestTool. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromLatin1 } from '../../src/bytes/index.js';
import { HFileWriter } from '../../src/hadoop/hfile/index.js';
import { connectHBase } from '../../src/hbase/engine.js';
import { Cell, CellType, Scan, tableDescriptor } from '../../src/table/index.js';
import { PerformanceEvaluation } from '../bench/hbase/performance-evaluation.js';
import { classPath, run } from '../hbase/server/class-path.js';
import { MODULE_FLAGS, TOOL_PATIENCE } from '../hbase/server/jvm.js';
import type { InstanceLayout } from '../hbase/server/layout.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { ServedStore } from './served-store.js';

const KEYS = Number(process.env['ROWAN_KEYS'] ?? 20_000);

/** Commands of PerformanceEvaluation, those that delete last. */
const COMMANDS = [
  ...['sequentialWrite', 'sequentialRead', 'randomWrite', 'randomRead', 'metaRandomRead', 'randomSeekScan'],
  ...['asyncSequentialWrite', 'asyncSequentialRead', 'asyncRandomWrite', 'asyncRandomRead', 'asyncScan'],
  ...['scan', 'reverseScan', 'scanRange10', 'scanRange100', 'scanRange1000', 'scanRange10000'],
  ...['increment', 'append', 'checkAndMutate', 'checkAndPut', 'checkAndDelete'],
  ...['randomDelete', 'sequentialDelete', 'cleanMeta'],
];

describe("HBase's load generators on a served store", () => {
  let store: ServedStore;
  beforeAll(async () => {
    store = await ServedStore.start();
  });
  afterAll(() => store.stop());

  it(`keeps what LoadTestTool writes and updates: ${KEYS} keys, each read again and verified`, async () => {
    const layout = await store.layout('bootstrap');
    const keys = ['-num_keys', String(KEYS)];
    await loadTest(layout, [
      '-tn',
      'ltt',
      '-write',
      '3:100:4',
      '-multiput',
      '-num_regions_per_server',
      '3',
      ...keys,
    ]);
    await loadTest(layout, ['-tn', 'ltt', '-skip_init', '-update', '20:4', ...keys]);
    const read = await loadTest(layout, ['-tn', 'ltt', '-skip_init', '-read', '100:4', ...keys]);
    expect(read).not.toMatch(/Failed to (?:read|write|update) (?:a )?keys?: [1-9]/);
    record('served-tools', { 'keys of LoadTestTool': KEYS });
  });

  it(
    'runs every command of PerformanceEvaluation but metaWrite, which writes hbase:meta',
    async () => {
      const tool = await PerformanceEvaluation.prepare(await store.layout('bootstrap'));
      await tool.load(5000);
      for (const command of COMMANDS)
        expect(await tool.measure(command, [], 200, 2), command).toBeGreaterThan(0);
      // For each row it scans the whole table.
      expect(await tool.measure('filterScan', [], 20, 1)).toBeGreaterThan(0);
      expect(await tool.measure('randomRead', ['--multiGet=100'], 1000, 2)).toBeGreaterThan(0);
      record('served-tools', { 'commands of PerformanceEvaluation': COMMANDS.length + 1 });
    },
    120_000 * COMMANDS.length,
  );

  it('gives AcidGuaranteesTestTool whole rows, whoever writes and flushes', async () => {
    const milliseconds = scaled(10_000, 60_000, 300_000);
    const output = await runMain(await store.layout('bootstrap'), 'AcidGuaranteesTestTool', [
      ...['-millis', String(milliseconds), '-numWriters', '5', '-numGetters', '2', '-numScanners', '2'],
      '-crazyFlush',
    ]);
    const sumOf = (pattern: RegExp): number =>
      [...output.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
    const counts = {
      'atomic writes': sumOf(/\bwrote (\d+)/g),
      'atomic gets': sumOf(/\bread (\d+)/g),
      'rows of atomic scans': sumOf(/\bverified (\d+) rows/g),
    };
    for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0);
    record('served-tools', counts);
  });
});

it('BulkLoadHFilesTool loads files, and divides one that spans two regions', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-hfiles-'));
  const store = await ServedStore.start(['--bulk-load', folder]);
  try {
    const engine = await connectHBase({ masters: [store.endpoint] });
    await engine.admin.createTable(tableDescriptor('loaded', { f: {}, g: {} }), [fromLatin1('k')]);
    const rows = Array.from(
      { length: 1000 },
      (_, i) => `${'abcdefghijklmnopqrst'[Math.floor(i / 50)]}${String(i).padStart(4, '0')}`,
    );
    for (const family of ['f', 'g']) await writeFiles(folder, family, rows);
    await runMain(await store.layout('bootstrap'), 'tool.BulkLoadHFilesTool', [
      `file://${folder}/load`,
      'loaded',
    ]);
    const found: string[] = [];
    for await (const { row, cells } of engine.table('loaded').scan(new Scan()))
      found.push(
        `${Buffer.from(row)} ${cells.map(({ family, value }) => `${family}=${Buffer.from(value)}`)}`,
      );
    expect(found).toEqual(rows.map((row) => `${row} f=value of ${row},g=value of ${row}`));
    await engine.close();
  } finally {
    await store.stop();
    await rm(folder, { recursive: true });
  }
});

/** An HFile of one family, where the tool looks for it. */
async function writeFiles(folder: string, family: string, rows: readonly string[]): Promise<void> {
  const parts: Uint8Array[] = [];
  const file = new HFileWriter(
    { append: async (bytes) => void parts.push(Uint8Array.from(bytes)) },
    { family },
  );
  for (const row of rows)
    file.add(
      new Cell(fromLatin1(row), family, fromLatin1('q'), 1000, CellType.Put, fromLatin1(`value of ${row}`)),
    );
  await file.finish();
  await mkdir(join(folder, 'load', family), { recursive: true });
  await writeFile(join(folder, 'load', family, 'part-0'), Buffer.concat(parts));
}

function loadTest(layout: InstanceLayout, args: readonly string[]): Promise<string> {
  return runMain(layout, 'util.LoadTestTool', args);
}

/** Runs a program of HBase's test jars; `name` is its class below `org.apache.hadoop.hbase`. */
async function runMain(layout: InstanceLayout, name: string, args: readonly string[]): Promise<string> {
  const jars = [layout.conf, await classPath('bench'), await classPath('server')].join(delimiter);
  const flags = [
    ...MODULE_FLAGS,
    '-Xmx512m',
    '-Djava.net.preferIPv4Stack=true',
    `-Djava.io.tmpdir=${layout.tmp}`,
  ];
  const { code, output } = await run(
    'java',
    [...flags, '-cp', jars, `org.apache.hadoop.hbase.${name}`, ...args],
    process.env,
    '',
    Math.max(TOOL_PATIENCE, 5 * KEYS),
  );
  if (code !== 0)
    throw new Error(`${name} ${args.join(' ')} ended with code ${code}:\n${output.slice(-4000)}`);
  return output;
}
