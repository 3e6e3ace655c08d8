import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineFiles } from '../../../src/job/files/line-files.js';
import { type Result, Scan, tableDescriptor } from '../../../src/table/index.js';
import { type ImportTsvOptions, importTsv } from '../../../src/tools/import-tsv.js';
import { scaled } from '../../proof/scale.js';
import { workerOn } from '../support.js';
import { stageOfEachTest } from './support.js';

const stage = stageOfEachTest();

async function file(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(stage.folder, name);
  await writeFile(path, text);
  return path;
}

async function cells(): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of stage.engine.table('t').scan(new Scan().readAllVersions())) {
    for (const cell of cells) {
      const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
      found.push(
        `${text(cell.row)} ${cell.family}:${text(cell.qualifier)}@${cell.timestamp}=${text(cell.value)}`,
      );
    }
  }
  return found;
}

test('columns go where they are told, with the timestamp and the life of their line', async () => {
  const path = await file('a.tsv', 'r1\t5\t100000\tx\ty:z\r\nr2\t6\t\t\té\nr3\t7\t0\tw');
  const { counters } = await importTsv(stage.engine, 't', [path], {
    columns: ['HBASE_ROW_KEY', 'HBASE_TS_KEY', 'HBASE_CELL_TTL', 'f:a', 'g'],
    create: true,
    skipEmptyColumns: true,
  });
  expect(counters).toEqual({ lines: 3, cells: 4 });
  expect(await cells()).toEqual(['r2 g:@6=é', 'r3 f:a@7=w']);
  const families = (await stage.engine.admin.getDescriptor('t')).families.map(({ name }) => name);
  expect(families).toEqual(['f', 'g']);
});

test('lines that cannot be read are counted and told with their place, or end the job', async () => {
  const path = await file('b.csv', 'r1,1,a\nr2,x,b\n\n,3,c\nr4,4,d,e\nr5,5\n');
  const options: ImportTsvOptions = {
    columns: ['HBASE_ROW_KEY', 'HBASE_TS_KEY', 'f:q'],
    separator: ',',
    create: true,
  };
  const bad: string[] = [];
  const { counters } = await importTsv(stage.engine, 't', [path], {
    ...options,
    onBadLine: ({ offset, why }) => bad.push(`${offset}: ${why}`),
  });
  expect(counters).toEqual({ lines: 6, cells: 1, 'bad lines': 4 });
  expect(bad).toEqual([
    '7: "x" is not a valid timestamp',
    '14: No delimiter',
    '15: No row',
    '20: Excessive columns',
  ]);
  expect(await cells()).toEqual(['r1 f:q@1=a']);
  await expect(
    importTsv(stage.engine, 't', [path], { ...options, skipBadLines: false, name: 'strict' }),
  ).rejects.toThrow(`The line at byte 7 of ${path} cannot be read: "x" is not a valid timestamp`);
});

test('a line without the separator is bad, as with a wrong separator', async () => {
  const path = await file('w.csv', 'r1;a\nr2\nr3;b;c\nr4,d\n');
  const bad: string[] = [];
  const { counters } = await importTsv(stage.engine, 't', [path], {
    columns: ['HBASE_ROW_KEY', 'f:q', 'f:r'],
    separator: ',',
    create: true,
    onBadLine: ({ offset, why }) => bad.push(`${offset}: ${why}`),
  });
  expect(counters).toEqual({ lines: 4, cells: 1, 'bad lines': 3 });
  expect(bad).toEqual(['0: No delimiter', '5: No delimiter', '8: No delimiter']);
});

test('a dry run writes nothing and needs no table', async () => {
  const path = await file('c.tsv', 'a\tb\n');
  const options = { columns: ['HBASE_ROW_KEY', 'f:q'], dryRun: true, create: true };
  expect((await importTsv(stage.engine, 't', [path], options)).counters).toEqual({ lines: 1, cells: 1 });
  expect(await stage.engine.admin.tableExists('t')).toBe(false);
});

test.each([
  [[], 'there are none'],
  [['f:q'], 'HBASE_ROW_KEY is missing'],
  [['HBASE_ROW_KEY'], 'no column is written'],
  [['HBASE_ROW_KEY', 'HBASE_ROW_KEY', 'f:q'], 'HBASE_ROW_KEY occurs twice'],
  [['HBASE_ROW_KEY', ':q'], '":q" names no family'],
  [['HBASE_ROW_KEY', 'f:q', 'HBASE_CELL_VISIBILITY'], 'HBASE_CELL_VISIBILITY is not supported'],
])('columns %j are refused: %s', async (columns, why) => {
  await expect(importTsv(stage.engine, 't', [join(stage.folder, 'none')], { columns })).rejects.toThrow(why);
});

test.each([
  [{ columns: [5] }, '5 is not a string'],
  [{ columns: null }, 'there are none'],
  [undefined, 'there are none'],
  [{ columns: ['HBASE_ROW_KEY', 'f:q'], timestamp: -1 }, 'Bad timestamp -1'],
  [{ columns: ['HBASE_ROW_KEY', 'f:q'], timestamp: '5' }, 'Bad timestamp "5"'],
])('options %j are refused before a job is begun: %s', async (options, why) => {
  const path = await file('g.tsv', 'a\tb\n');
  await expect(importTsv(stage.engine, 't', [path], options as never)).rejects.toThrow(why);
  expect(await stage.engine.admin.tableExists('rowan_jobs')).toBe(false);
});

test.each(['', '\n', '\r', 'ab', 'ä', 5, null])('the separator %j is refused', async (separator) => {
  const options = { columns: ['HBASE_ROW_KEY', 'f:q'], separator: separator as string };
  await expect(importTsv(stage.engine, 't', [join(stage.folder, 'none')], options)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringContaining('The separator must be one ASCII character') as string,
  });
});

test('a job that dies anywhere and is resumed writes every line once, at one timestamp', async () => {
  const text = Array.from({ length: 60 }, (_, i) => `row${i}\tv${i}\n`).join('');
  const path = await file('d.tsv', text);
  for (let lives = 4; lives < 30; lives += scaled(17, 4, 1)) {
    await stage.engine.admin.createTable(tableDescriptor('t', { f: { versions: 9 } }));
    const options = {
      columns: ['HBASE_ROW_KEY', 'f:q'],
      name: `j${lives}`,
      run: { batchRows: 5, checkpointRows: 5, parallel: 1 },
    };
    await importTsv(workerOn(stage.engine, { lives }).engine, 't', [path], options).catch(() => {});
    await importTsv(stage.engine, 't', [path], options);
    const found = await cells();
    expect(found.length).toBe(60);
    expect(new Set(found.map((cell) => /@(\d+)/.exec(cell)![1])).size).toBe(1);
    await stage.engine.admin.disableTable('t');
    await stage.engine.admin.deleteTable('t');
  }
});

async function linesOf(files: LineFiles, scan: Scan): Promise<Result[]> {
  const scanner = files.scan(scan);
  try {
    return await scanner.nextBatch(100);
  } finally {
    await scanner.close();
  }
}

test('pieces of files have every line once, wherever they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'bb', '', 'é', 'x'.repeat(30)), { maxLength: 12 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 20 }),
      async (lines, ended, pieceBytes) => {
        const text = lines.join('\n') + (ended && lines.length > 0 ? '\n' : '');
        const expected = text === '' ? [] : text.replace(/\n$/, '').split('\n');
        const files = await LineFiles.open([await file('p', text), await file('q', 'last\n')], {
          pieceBytes,
        });
        const found: Result[] = [];
        for (const { start, stop } of files.ranges) {
          const whole = await linesOf(files, new Scan().withStartRow(start).withStopRow(stop));
          found.push(...whole);
          // Going on behind any line gives the lines behind it.
          for (const [index, { row }] of whole.entries()) {
            const rest = await linesOf(files, new Scan().withStartRow(row, false).withStopRow(stop));
            expect(rest.map((line) => [...line.row])).toEqual(
              whole.slice(index + 1).map((line) => [...line.row]),
            );
          }
        }
        expect(found.map(({ cells }) => Buffer.from(cells[0]!.value).toString())).toEqual([
          ...expected,
          'last',
        ]);
      },
    ),
    { numRuns: scaled(6, 60, 2000) },
  );
});

test('lines that end where a piece of what is read ends, and longer ones, come whole, alone or many at once', async () => {
  const chunk = 1 << 20;
  const lines = [
    'a',
    'b'.repeat(chunk - 3),
    '',
    'c'.repeat(chunk - 1),
    'd',
    'e'.repeat(3 * chunk),
    'f\r',
    'g',
  ];
  const records = lines.map((line) => `"${line.slice(0, 1)}\n${line.slice(1)}",1`);
  for (const [quoted, expected] of [
    [false, lines],
    [true, records],
  ] as const) {
    const files = await LineFiles.open([await file('long', expected.join('\n'))], { quoted });
    const { start } = files.ranges[0]!;
    for (const most of [1, 3, 100]) {
      const scanner = files.scan(new Scan().withStartRow(start).withStopRow(files.ranges.at(-1)!.stop));
      const found: string[] = [];
      for (let rows = await scanner.nextBatch(most); rows.length > 0; rows = await scanner.nextBatch(most)) {
        found.push(...rows.map(({ cells }) => Buffer.from(cells[0]!.value).toString()));
        const row = most === 3 ? await scanner.next() : undefined;
        if (row !== undefined) found.push(Buffer.from(row.cells[0]!.value).toString());
      }
      await scanner.close();
      expect(found.map(({ length }) => length)).toEqual(expected.map((line) => withoutReturn(line).length));
      expect(found.every((line, at) => line === withoutReturn(expected[at]!))).toBe(true);
    }
  }
});

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
