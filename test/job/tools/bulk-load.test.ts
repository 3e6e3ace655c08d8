import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HFileWriter } from '../../../src/hadoop/hfile/index.js';
import { bulkLoad, JobBuilder, ndjsonSource } from '../../../src/job/index.js';
import { type Engine, Get, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { type BulkFormat, type BulkLoadToolOptions, bulkLoadFiles } from '../../../src/tools/bulk-load.js';
import { exportTable } from '../../../src/tools/export.js';
import { importTsv } from '../../../src/tools/import-tsv.js';
import { familyCells, textOf } from '../../hadoop/cells.js';
import { scaled } from '../../proof/scale.js';
import { workerOn } from '../support.js';
import { onStage, SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();
const sorting = (): string => join(stage.folder, 'sorting');

const TABLE = tableDescriptor('t', { f: { versions: 1000, keepDeletedCells: 'TRUE' } });

async function stored(engine: Engine, table = 't'): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table(table).scan(new Scan().setRaw(true).readAllVersions())) {
    found.push(...cells.map(textOf));
  }
  return found;
}

test('what was exported is loaded as it was, of every format, whoever died on the way, and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(
      familyCells('f', 60).filter((cells) => cells.length > 0),
      fc.constantFrom('rowan' as const, 'hbase' as const, 'hfile' as const),
      fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 4 }),
      async (all, format, deaths) => {
        // Rowan's own format does not carry lives.
        const cells =
          format === 'rowan'
            ? all.map(({ row, family, qualifier, timestamp, type, value }) => ({
                row,
                family,
                qualifier,
                timestamp,
                type,
                value,
              }))
            : all;
        await onStage(async ({ engine: from, other: into, folder: own }) => {
          await from.admin.createTable(TABLE, [Buffer.from([0x55]), Buffer.from([0xaa])]);
          await into.admin.createTable(TABLE, [Buffer.from([0x80])]);
          await from.bulkLoad('t', cells);
          let paths = [own];
          if (format === 'hfile') {
            paths = [join(own, 'file')];
            const file = await open(paths[0]!, 'w');
            const writer = new HFileWriter(
              { append: (bytes) => file.writeFile(bytes) },
              { family: 'f', blockSize: 50 },
            );
            for (const cell of cells) writer.add(cell);
            await writer.finish();
            await file.close();
          } else await exportTable(from, 't', own, { format });
          const load = (engine: Engine): Promise<unknown> =>
            bulkLoadFiles(engine, 't', paths, { format, folder: sorting(), run: SMALL });
          for (const lives of deaths) await load(workerOn(into, { lives }).engine).catch(() => 0);
          await load(into);
          expect(await stored(into)).toEqual(await stored(from));
          expect(await readdir(sorting())).toEqual([]);
        });
      },
    ),
    { numRuns: scaled(2, 25, 900) },
  );
});

test('delimited text is loaded as importtsv imports it, and seen when all of it is there', async () => {
  const { engine } = stage;
  const path = join(stage.folder, 'lines.tsv');
  const lines = Array.from(
    { length: 300 },
    (_, i) => `r${(i * 7919) % 300}\tv${i}\t${i % 3 === 0 ? 5_000_000 : ''}`,
  );
  await writeFile(path, `${lines.join('\n')}\nbad\tline\twith\tmore\n`);
  const tsv = { columns: ['HBASE_ROW_KEY', 'f:q', 'HBASE_CELL_TTL'], timestamp: stage.engine.now() };
  for (const name of ['loaded', 'imported']) await engine.admin.createTable(tableDescriptor(name, { f: {} }));
  const { counters } = await bulkLoadFiles(engine, 'loaded', [path], {
    format: 'tsv',
    tsv,
    folder: sorting(),
  });
  const imported = await importTsv(engine, 'imported', [path], tsv);
  expect(await stored(engine, 'loaded')).toEqual(await stored(engine, 'imported'));
  expect(counters).toMatchObject({ ...imported.counters, files: 1 });
  expect(imported.counters).toMatchObject({ lines: 301, 'bad lines': 1 });
});

test('records and objects are loaded as the same delimited text is, and tell what cannot be read', async () => {
  const { engine } = stage;
  for (const name of ['tsv', 'csv', 'named', 'ndjson', 'mapped'])
    await engine.admin.createTable(tableDescriptor(name, { f: {} }));
  const rows = Array.from({ length: 40 }, (_, i) => ({
    row: `r${(i * 7) % 40}`,
    n: i,
    text: `a, "b" ${i}`,
    at: 5 + i,
  }));
  const columns = ['HBASE_ROW_KEY', 'f:n', 'f:t', 'HBASE_TS_KEY'];
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const records = rows.map(({ row, n, text, at }) => [row, n, quoted(text), at].join());
  const files = {
    tsv: rows.map(({ row, n, text, at }) => [row, n, text, at].join('\t')),
    csv: [...records, 'x,1,2,no time'],
    named: [columns.join(), ...records, 'x,1,2,3,4'],
    ndjson: [
      ...rows.map(({ row, n, text, at }) =>
        JSON.stringify({
          HBASE_ROW_KEY: row,
          'f:n': n,
          'f:t': { $bytes: Buffer.from(text).toString('base64') },
          HBASE_TS_KEY: at,
          'f:none': null,
        }),
      ),
      '{"HBASE_ROW_KEY":"x","g:n":1}',
    ],
    mapped: [
      ...rows.map((row) => JSON.stringify({ ...row, more: { of: 'it' } })),
      '[1]',
      '{"n":1}',
      '{"row":',
    ],
  } as const;
  const bad: string[] = [];
  const load = async (
    name: keyof typeof files,
    format: BulkFormat,
    change: Partial<BulkLoadToolOptions> = {},
  ): Promise<unknown> => {
    const path = join(stage.folder, name);
    await writeFile(path, files[name].map((line) => `${line}\n`).join(''));
    const { counters } = await bulkLoadFiles(engine, name, [path], { format, folder: sorting(), ...change });
    return counters;
  };
  const onBadLine = ({ why }: { why: string }): void => void bad.push(why);
  await load('tsv', 'tsv', { tsv: { columns } });
  const expected = await stored(engine, 'tsv');
  expect(expected).toHaveLength(80);
  expect(await load('csv', 'csv', { items: { columns, onBadLine } })).toMatchObject({
    lines: 41,
    cells: 80,
    'bad lines': 1,
  });
  expect(await load('named', 'csv', { items: { onBadLine } })).toMatchObject({ cells: 80, 'bad lines': 1 });
  expect(await load('ndjson', 'ndjson', { items: { onBadLine } })).toMatchObject({
    cells: 80,
    'bad lines': 1,
  });
  const mapped = ['row=HBASE_ROW_KEY', 'n=f:n', 'text=f:t', 'at=HBASE_TS_KEY'];
  expect(await load('mapped', 'ndjson', { items: { columns: mapped, onBadLine } })).toMatchObject({
    lines: 43,
    cells: 80,
    'bad lines': 3,
  });
  for (const name of ['csv', 'named', 'ndjson', 'mapped'])
    expect(await stored(engine, name)).toEqual(expected);
  expect(bad.slice(0, 5)).toEqual([
    '"no time" is not a valid timestamp',
    'It has 5 fields, but there are 4 columns.',
    'The table has no family for "g:n"',
    'No object',
    'No row',
  ]);
  await expect(
    load('mapped', 'ndjson', { name: 'strict', items: { columns: mapped, skipBadLines: false } }),
  ).rejects.toThrow(/The item at byte \d+ of .*mapped cannot be read: No object/);
  await expect(load('ndjson', 'ndjson', { create: true, name: 'made' })).rejects.toThrow('name the columns');
  await expect(load('ndjson', 'avro', { name: 'avro' })).rejects.toThrow('name the entity');
  await expect(
    load('mapped', 'ndjson', { items: { columns: ['a=HBASE_ROW_KEY', 'a=f:n'] }, name: 'twice' }),
  ).rejects.toThrow('Name each once');
});

test('a table is a sink: unsorted puts of several splits become visible together, and win over older ones', async () => {
  const { engine } = stage;
  await engine.admin.createTable(TABLE, [Buffer.from('5')]);
  const table = engine.table('t');
  await table.put(new Put('7').addColumn('f', 'n', 'old', 3));
  const ids = new Set([7]);
  const files: string[] = [];
  for (let file = 0; file < 3; file++) {
    files.push(join(stage.folder, `items-${file}.ndjson`));
    const items = Array.from({ length: 20 }, (_, i) => ({ id: (i * 3 + file * 7) % 40, file }));
    for (const { id } of items) ids.add(id);
    await writeFile(files[file]!, items.map((item) => `${JSON.stringify(item)}\n`).join(''));
  }
  let seen = 0;
  const job = new JobBuilder(engine, 'fill')
    .from<unknown>(ndjsonSource(files))
    .map<number, Put>(async (item, emit) => {
      const { id, file } = item as { id: number; file: number };
      emit(0, new Put(String(id)).addColumn('f', 'n', String(file), 3).setTtl(file === 1 ? 5e12 : undefined));
      seen = Math.max(seen, (await stored(engine)).length);
    })
    .to(bulkLoad(engine, 't', { folder: sorting() }));
  const { counters } = await job.run({ ...SMALL, restart: true });
  expect(seen).toBe(1);
  expect(counters['files']).toBe(2);
  expect(Buffer.from((await table.get(new Get('7')))!.getValue('f', 'n')!).toString()).not.toBe('old');
  expect(new Set((await stored(engine)).map((text) => text.split(' ')[0])).size).toBe(ids.size);
  expect(await readdir(sorting())).toEqual([]);
});

test('what cannot be loaded says why, and loads nothing', async () => {
  const { engine } = stage;
  await engine.admin.createTable(TABLE);
  const path = join(stage.folder, 'lines.tsv');
  await writeFile(path, 'a\tb\n');
  const tsv = { columns: ['HBASE_ROW_KEY', 'f:q'] };
  const load = (change: object, table = 't'): Promise<unknown> =>
    bulkLoadFiles(engine, table, [path], { format: 'tsv', tsv, folder: sorting(), ...change } as never);
  await expect(load({ folder: '' })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await expect(load({ format: 'xml' })).rejects.toMatchObject({ message: expect.stringContaining('"xml"') });
  await expect(load({ tsv: undefined })).rejects.toMatchObject({
    message: expect.stringContaining('columns'),
  });
  await expect(load({ tsv: { columns: ['HBASE_ROW_KEY', 'g:q'] } })).rejects.toMatchObject({
    message: expect.stringContaining('no family "g"'),
  });
  await expect(load({ format: 'hfile' })).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  await expect(load({}, 'absent')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  await expect(bulkLoadFiles(engine, 't', [], { format: 'hbase', folder: sorting() })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  expect(await stored(engine)).toEqual([]);
});
