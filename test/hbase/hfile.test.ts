import { chmod, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { fromLatin1 } from '../../src/bytes/index.js';
import { HFileReader, HFileWriter, prepareHFileCodec } from '../../src/hadoop/hfile/index.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import type { JobOutcome } from '../../src/job/types.js';
import { Cell, CellType, type Engine, Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { type BulkLoadToolOptions, bulkLoadFiles } from '../../src/tools/bulk-load.js';
import { familyCells, textOf } from '../hadoop/cells.js';
import { workerOn } from '../job/support.js';
import { connectShared, sharedHBase } from './connect.js';
import { PATIENCE } from './patience.js';
import { InstanceLayout } from './server/layout.js';
import { runTool } from './server/tool.js';
import { dropTable, uniqueTable } from './tables.js';

const layout = new InstanceLayout(sharedHBase().instance);
const folder = join(layout.data, uniqueTable('hfiles'));

let engine: HBaseEngine;
const tables: string[] = [];
beforeAll(async () => {
  engine = (await connectShared()) as HBaseEngine;
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o777);
});
afterAll(async () => {
  for (const table of tables) await dropTable(engine, table);
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

async function makeTable(splits: readonly string[] = []): Promise<string> {
  const name = uniqueTable('hfile');
  const family = { versions: 100, keepDeletedCells: 'TRUE' as const };
  await engine.admin.createTable(tableDescriptor(name, { f: family, g: family }), splits.map(fromLatin1));
  tables.push(name);
  return name;
}

const rawCells = (name: string): Promise<string[]> => storedCells(name, true);

async function storedCells(name: string, raw: boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table(name).scan(new Scan().setRaw(raw).readAllVersions())) {
    found.push(...cells.map(textOf));
  }
  return found;
}

/** Without the time to live, which HBase keeps to itself. */
function seen(cell: Cell): string {
  const { row, family, qualifier, timestamp, type, value } = cell;
  return textOf(new Cell(row, family, qualifier, timestamp, type, value));
}

/** A row that no other cell of a test has, and a life that has not ended. */
function puts(rows: readonly string[], family = 'f', timestamp = 5): Cell[] {
  return rows.map(
    (row) =>
      new Cell(Buffer.from(row), family, Buffer.from('q'), timestamp, CellType.Put, Buffer.from(`of ${row}`)),
  );
}

const lastingCells = (family: string): fc.Arbitrary<Cell[]> =>
  // Lives that are over before they begin are not shown, not even to raw scans.
  familyCells(family).map((cells) =>
    cells.map(
      ({ row, qualifier, timestamp, type, value }) =>
        new Cell(row, family, qualifier, timestamp, type, value),
    ),
  );

it("HBase's own tool reads, checks and prints every cell of files of every shape", async () => {
  const shapes = [
    { compression: 'NONE', blockSize: 65536, indexBlockSize: 131072 },
    { compression: 'GZ', blockSize: 200, indexBlockSize: 150 },
    { compression: 'SNAPPY', blockSize: 200, indexBlockSize: 150 },
    { compression: 'LZ4', blockSize: 3000, indexBlockSize: 400 },
    { compression: 'ZSTD', blockSize: 200, indexBlockSize: 131072 },
  ] as const;
  const paths: string[] = [];
  const counts: number[] = [];
  for (const [at, shape] of shapes.entries()) {
    const cells = fc.sample(familyCells('f', 2000), { numRuns: 1, seed: 7 + at })[0]!;
    const path = join(folder, `shape-${at}`);
    const file = await open(path, 'w');
    await prepareHFileCodec(shape.compression);
    const writer = new HFileWriter({ append: (bytes) => file.writeFile(bytes) }, { family: 'f', ...shape });
    for (const cell of cells) writer.add(cell);
    await writer.finish();
    await file.close();
    paths.push(path);
    counts.push(cells.length);
  }
  // -p prints cells, -v checks their order and each block, -k looks for rows out of order, -m and -b print what is said of it.
  for (const [at, path] of paths.entries()) {
    const printed = await runTool(layout, 'org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter', [
      ...['-p', '-v', '-k', '-m', '-b'],
      ...['-f', `file://${path}`],
    ]);
    expect(printed).toContain(`Scanned kv count -> ${counts[at]}`);
    expect(printed.match(/^K: /gm)).toHaveLength(counts[at]!);
    expect(printed).toContain('BLOOM_FILTER_TYPE = ROW');
    expect(printed).not.toMatch(/WARNING|Exception|ERROR/);
  }
});

/** The files that a table has on the server's disk; each is closed when the next is asked for. */
async function* filesOf(name: string, families: readonly string[]): AsyncGenerator<HFileReader> {
  const regions = join(layout.data, 'root', 'data', 'default', name);
  for (const region of await readdir(regions)) {
    for (const family of families) {
      for (const file of await readdir(join(regions, region, family)).catch(() => [])) {
        const reader = await HFileReader.open(join(regions, region, family, file));
        try {
          yield reader;
        } finally {
          await reader.close();
        }
      }
    }
  }
}

it('cells of several regions and families are loaded as they are, and what HBase makes of the files is read here', async () => {
  const [f, g] = [1, 2].map(
    (seed) => fc.sample(lastingCells(seed === 1 ? 'f' : 'g'), { numRuns: 1, seed })[0]!,
  );
  const cells = [...f!, ...g!].sort((a, b) => Buffer.compare(a.row, b.row) || (a.family < b.family ? -1 : 1));
  const [plain, packed] = [await makeTable(['@', 'm']), await makeTable(['\x01', '\x80'])];
  const loaded = await engine.bulkLoad(plain, cells, { folder });
  expect(loaded.cells).toBe(cells.length);
  await engine.bulkLoad(packed, cells, { folder, compression: 'GZ' });
  const expected = cells.map(seen).sort();
  expect((await rawCells(plain)).sort()).toEqual(expected);
  expect((await rawCells(packed)).sort()).toEqual(expected);
  // Rows are found through the index and the Bloom filter.
  const [put] = cells.filter(({ type }) => type === CellType.Put);
  expect(await engine.table(plain).get(new Get(put!.row))).toBeDefined();
  const visible = await storedCells(plain, false);
  await engine.admin.majorCompact(plain);
  expect(await storedCells(plain, false)).toEqual(visible);
  // The compaction drops markers; files before it may still be there, or are taken away while they are read.
  await vi.waitFor(async () => {
    const found = new Set<string>();
    for await (const reader of filesOf(plain, ['f', 'g']))
      for await (const cell of reader.cells()) found.add(seen(cell));
    expect([...found].filter((cell) => !expected.includes(cell))).toEqual([]);
    expect(visible.filter((cell) => !found.has(cell))).toEqual([]);
  }, PATIENCE);
  expect((await readdir(folder)).filter((name) => name.startsWith('rowan-'))).toEqual([]);
});

it.each(['SNAPPY', 'LZ4', 'ZSTD'] as const)(
  'files packed by %s are read of HBase, and by it',
  async (compression) => {
    const name = uniqueTable('packed');
    await engine.admin.createTable(tableDescriptor(name, { f: { compression } }));
    tables.push(name);
    // The last is packed in more than one chunk.
    const values = ['', 'short', 'again and '.repeat(500), `${'0123456789'.repeat(60_000)}end`];
    const cells = values.map(
      (value, at) =>
        new Cell(Buffer.from(`r${at}`), 'f', Buffer.from('q'), 5, CellType.Put, Buffer.from(value)),
    );
    await engine.bulkLoad(name, cells.slice(1), { folder, compression });
    expect(await storedCells(name, false)).toEqual(cells.slice(1).map(textOf));
    await engine.table(name).put(new Put('r0').addColumn('f', 'q', '', 5));
    await engine.admin.flush(name);
    await engine.admin.majorCompact(name);
    // The compaction puts its file beside the others, and takes those away when it likes.
    await vi.waitFor(async () => {
      const found = new Set<string>();
      for await (const reader of filesOf(name, ['f'])) {
        expect(reader.trailer.codec).toBe({ SNAPPY: 3, LZ4: 4, ZSTD: 6 }[compression]);
        for await (const cell of reader.cells()) found.add(textOf(cell));
      }
      expect([...found].sort()).toEqual(cells.map(textOf).sort());
    }, PATIENCE);
  },
);

it('what is loaded wins over what was written before, and loses to what is written after', async () => {
  const name = await makeTable();
  const table = engine.table(name);
  await table.put(new Put('a').addColumn('f', 'q', 'before', 5));
  await engine.bulkLoad(name, puts(['a']), { folder });
  expect(Buffer.from((await table.get(new Get('a')))!.getValue('f', 'q')!).toString()).toBe('of a');
  await table.put(new Put('a').addColumn('f', 'q', 'after', 5));
  expect(Buffer.from((await table.get(new Get('a')))!.getValue('f', 'q')!).toString()).toBe('after');
});

it('regions that are divided while files are written divide the files, and writers beside it lose nothing', async () => {
  const name = await makeTable();
  const rows = Array.from({ length: 400 }, (_, i) => `row${String(i).padStart(4, '0')}`);
  const other = (await connectShared()) as HBaseEngine;
  async function* dividing(): AsyncGenerator<Cell> {
    for (const [at, cell] of puts(rows).entries()) {
      const middle = at === 50 ? 100 : at === 300 ? 250 : undefined;
      // A half that still reads the files of its whole is refused until it is compacted.
      if (middle !== undefined)
        await vi.waitFor(() => other.admin.split(name, fromLatin1(rows[middle]!)), PATIENCE);
      yield cell;
    }
  }
  try {
    const beside = rows.map((row) => new Put(row).addColumn('g', 'q', 'beside', 9));
    const [loaded] = await Promise.all([
      engine.bulkLoad(name, dividing(), { folder }),
      engine.bulkLoad(name, puts(rows, 'f', 6), { folder }),
      other.table(name).putAll(beside),
    ]);
    expect(loaded.cells).toBe(rows.length);
    expect(loaded.files).toBeGreaterThan(1);
    expect((await engine.admin.getRegions(name)).length).toBe(3);
    expect(await rawCells(name)).toHaveLength(3 * rows.length);
  } finally {
    await other.close();
  }
});

it('what cannot be loaded is said before anything is, and leaves no files', async () => {
  const name = await makeTable(['m']);
  await expect(engine.bulkLoad(name, puts(['a']))).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringContaining('needs a folder'),
  });
  await expect(engine.bulkLoad(name, puts(['a']), { folder, uri: 'no-scheme' })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await expect(engine.bulkLoad(name, puts(['x', 'b']), { folder })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await expect(engine.bulkLoad(name, puts(['a', 'x'], 'other'), { folder })).rejects.toMatchObject({
    code: 'ERR_NO_SUCH_FAMILY',
  });
  await expect(engine.bulkLoad('absent', puts(['a']), { folder })).rejects.toMatchObject({
    code: 'ERR_TABLE_NOT_FOUND',
  });
  expect((await engine.bulkLoad(name, [], { folder })).cells).toBe(0);
  expect(await rawCells(name)).toEqual([]);
  expect((await readdir(folder)).filter((name) => name.startsWith('rowan-'))).toEqual([]);
});

it('text is sorted and loaded by region, and goes on where it was killed', async () => {
  const name = await makeTable(['row3', 'row6']);
  const path = join(folder, 'lines.tsv');
  const rows = Array.from({ length: 1000 }, (_, i) => `row${(i * 367) % 1000}`);
  await writeFile(path, rows.map((row) => `${row}\tof ${row}\n`).join(''));
  const options: BulkLoadToolOptions = {
    format: 'tsv',
    tsv: { columns: ['HBASE_ROW_KEY', 'f:q'], timestamp: 5 },
    folder,
    run: { batchRows: 50, checkpointRows: 200, leaseMs: 300 },
  };
  const load = (on: Engine): Promise<JobOutcome> => bulkLoadFiles(on, name, [path], options);
  for (const lives of [4, 9, 14]) {
    await load(workerOn(engine, { lives, cluster: true }).engine).catch((error: unknown) =>
      expect(String(error)).toContain('dead'),
    );
  }
  const { counters } = await load(engine);
  expect(counters).toMatchObject({ lines: 1000, cells: 1000, files: 3 });
  expect(await rawCells(name)).toEqual(puts([...rows].sort()).map(textOf));
  expect((await readdir(folder)).filter((file) => /^(rowan|sorted)-/.test(file))).toEqual([]);
});
