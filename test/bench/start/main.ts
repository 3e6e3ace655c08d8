/**
 * The time a process takes to begin: the import, the first get of a store of 1,000 rows, commands, a test file. Each measurement is a
 * process of its own, of the published code; the contestants' processes take turns, and the medians are printed.
 *
 * `npm run bench:start [-- --rounds 15] [--figure import] [--json FILE] [--merge FILE]`: the table is in milliseconds; the file has starts
 * a second, as every bench has higher figures for the better.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchRow, childTime, median, report } from '../harness.js';

const ROOT = join(import.meta.dirname, '../../../..');
const HERE = join(ROOT, 'test/bench/start');
const PROGRAM = join(HERE, 'program.mjs');
const MODULE = join(HERE, 'rowan.mjs');
const COMMAND = join(ROOT, 'dist/rowan.js');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

interface Took {
  readonly milliseconds: number;
  /** Time of the processor, whatever the process waited for. */
  readonly processor?: number;
  /** Resident, in MiB. */
  readonly memory?: number;
}

interface Measured {
  readonly figure: string;
  readonly of: string;
  run(): Took;
}

interface Result extends Took {
  readonly figure: string;
  readonly of: string;
}

function node(args: readonly string[], cwd = ROOT): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`node ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

/** What the process itself says that it took. */
function told(figure: string, of: string, ...args: string[]): Measured {
  return { figure, of, run: () => JSON.parse(node([PROGRAM, ...args])) as Took };
}

/** From the start of the process to its end. */
function whole(figure: string, of: string, args: readonly string[], cwd = ROOT): Measured {
  return {
    figure,
    of,
    run: () => {
      const begun = performance.now();
      const before = childTime();
      node(args, cwd);
      return { milliseconds: performance.now() - begun, processor: childTime() - before };
    },
  };
}

/** A folder in which Vitest finds one file, that does this. */
function testFile(folder: string, name: string, body: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  // Node loads the package, as it does from node_modules; Vitest takes it for a file of the project else.
  const config = '{ test: { server: { deps: { external: [/\\/dist\\//] } } } }';
  writeFileSync(join(own, 'vitest.config.mjs'), `export default ${config};\n`);
  writeFileSync(join(own, 'one.test.mjs'), `import { test } from 'vitest';\n${body}\n`);
  return own;
}

function all(folder: string): Measured[] {
  const orms = ['rowan', 'drizzle', 'typeorm', 'mikro-orm'];
  const stores = [...orms, 'classic-level'];
  for (const name of stores) node([PROGRAM, 'fill', name, folder]);
  const empty = testFile(folder, 'empty', "test('nothing', () => {});");
  const memory = testFile(
    folder,
    'memory',
    `import { openMemory } from '${join(ROOT, 'dist/testing.js')}';
import { Reading } from '${MODULE}';
test('a database in memory', async () => {
  const db = await openMemory({ entities: [Reading] });
  await db.close();
});`,
  );
  const vitest = (root: string): string[] => [VITEST, 'run', '--root', root];
  return [
    ...orms.map((name) => told('import', name, 'import', name)),
    ...stores.map((name) => told('first get', name, 'get', name, folder)),
    told('thread', 'of flushes and compactions', 'thread', 'rowan', join(ROOT, 'dist/rowan-worker.js')),
    told('thread', 'empty', 'thread', 'rowan', join(HERE, 'empty-thread.mjs')),
    whole('command', 'node -e 0', ['-e', '0']),
    whole('command', 'rowan --help', [COMMAND, '--help']),
    whole('command', 'rowan ddl', [COMMAND, 'ddl', MODULE]),
    whole('command', 'rowan store stats', [COMMAND, 'store', 'stats', join(folder, 'rowan')]),
    whole('test file', 'empty', vitest(empty)),
    whole('test file', 'openMemory', vitest(memory)),
  ];
}

function main(): void {
  const { values } = parseArgs({
    options: {
      json: { type: 'string' },
      merge: { type: 'string' },
      rounds: { type: 'string', default: '15' },
      figure: { type: 'string' },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'rowan-start-'));
  try {
    const measured = all(folder).filter(({ figure }) => figure === (values.figure ?? figure));
    const took = measured.map((): Took[] => []);
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [at, each] of measured.entries()) took[at]!.push(each.run());
    }
    const rows = measured.map(({ figure, of }, at): Result => ({ figure, of, ...medians(took[at]!) }));
    console.table(rows);
    report(benchRows(rows));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What each measurement is compared with, other than the libraries that do the same. */
const BASES: Readonly<Record<string, string>> = {
  thread: 'empty',
  command: 'node -e 0',
  'test file': 'empty',
};

/** Starts a second: of the libraries in one row for each figure, of commands, threads and test files beside an empty one. */
function benchRows(results: readonly Result[]): BenchRow[] {
  const rows: BenchRow[] = [];
  for (const result of results) {
    const { figure, of } = result;
    const base = BASES[figure];
    if (of === base || (base === undefined && of !== 'rowan')) continue;
    const peers = results.filter(
      (one) => one.figure === figure && one !== result && (base === undefined || one.of === base),
    );
    const each = (name: keyof Took, convert: (value: number) => number): Record<string, number> =>
      Object.fromEntries(
        [result, ...peers].flatMap((one) => {
          const value = one[name];
          return value === undefined || value === 0
            ? []
            : [[one === result ? 'rowan' : one.of, convert(value)]];
        }),
      );
    const { rowan = Number.NaN, ...others } = each('milliseconds', perSecond);
    rows.push({
      row: base === undefined ? figure : `${figure}: ${of}`,
      unit: 'starts/s',
      rowan,
      peers: others,
      processor: each('processor', perSecond),
      megabytes: each('memory', (mebibytes) => mebibytes * 1.048576),
    });
  }
  return rows;
}

function perSecond(milliseconds: number): number {
  return 1000 / milliseconds;
}

function medians(took: readonly Took[]): Took {
  const of = (name: keyof Took): Record<string, number> => {
    const values = took.map((each) => each[name]).filter((value) => value !== undefined);
    return values.length === 0 ? {} : { [name]: Math.round(median(values) * 10) / 10 };
  };
  return { milliseconds: 0, ...of('milliseconds'), ...of('processor'), ...of('memory') };
}

main();
