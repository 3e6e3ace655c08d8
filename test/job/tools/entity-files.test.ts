import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Column, defineEntity, defineTable, Entity, RowKey, Table } from '../../../decorators/index.js';
import {
  avroCodec,
  boolean,
  date,
  float64,
  int32,
  int64,
  type JsonValue,
  json,
  text,
  transformed,
} from '../../../src/codec/index.js';
import { bytes, part, raw, recordType, salt } from '../../../src/key/index.js';
import { Scan } from '../../../src/table/index.js';
import { openMemory } from '../../../src/testing/index.js';
import { type BulkLoadToolOptions, bulkLoadFiles } from '../../../src/tools/bulk-load.js';
import { exportEntities, importEntities } from '../../../src/tools/entity-files.js';
import { synthesize } from '../../../src/tools/synth.js';
import { scaled } from '../../proof/scale.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { workerOn } from '../support.js';

@Table({ name: 'file_things', families: { d: {} }, presplit: { regions: 3 } })
class Things {}

class Money {
  constructor(readonly cents: bigint) {}
}
const money = transformed(int64, { to: ({ cents }: Money) => cents, from: (cents) => new Money(cents) });

@Entity({ table: Things, recordType: 1 })
@RowKey(salt(4), part('id', bytes), recordType())
class Thing {
  declare static readonly key: ['id'];
  id!: Uint8Array;
  @Column('d:t', text) text?: string | null;
  @Column('d:n', int64) number?: bigint | null;
  @Column('d:w', date) when?: Date | null;
  @Column('d:j', json()) json?: JsonValue;
  @Column('d:p', money) price?: Money | null;
}

@Entity({ table: Things, recordType: 2 })
@RowKey(salt(4), part('id', bytes), recordType())
class Other {
  declare static readonly key: ['id'];
  id!: Uint8Array;
  @Column('d:t', text) text?: string | null;
}

const Locked = defineEntity({
  name: 'Locked',
  table: defineTable({ name: 'locked', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({
    text: c.column('d:t', text).optional(),
    version: c.version('d:v'),
    deletedAt: c.deletedAt('d:x'),
  }),
});

let db: TestDatabase;
let folder: string;
beforeEach(async () => {
  db = await openTestDatabase([Thing, Other]);
  folder = await mkdtemp(join(tmpdir(), 'rowan-entities-'));
});
afterEach(async () => {
  await db.dispose();
  await rm(folder, { recursive: true });
});

const things = fc.uniqueArray(
  fc.record(
    {
      id: fc.uint8Array({ minLength: 1, maxLength: 6 }),
      text: fc.option(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc.constantFrom('', '12', 'null', '"', '{}', 'a,"b"\r\nc', ' '),
        ),
        { nil: null },
      ),
      number: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      price: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((cents) => new Money(cents)),
      when: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2999-01-01') }),
      json: fc.oneof(
        fc.constant({ $date: 'no date' }),
        fc.constant({ $object: { $bigint: '5' } }),
        fc.array(fc.string()),
        fc.constantFrom('', 'true', 'x', '"', 5, true, 'a\nb'),
      ),
    },
    { requiredKeys: ['id'] },
  ),
  { selector: ({ id }) => Buffer.from(id).toString('hex'), maxLength: 12 },
);

const formats = ['ndjson', 'csv', 'avro', 'parquet'] as const;

test.each(formats)(
  'entities with a version are imported as %s, also once more and over what is stored',
  async (format) => {
    await using locked = await openMemory({ entities: [Locked] });
    const repository = locked.repository(Locked);
    const schema = locked.schema.entity(Locked);
    const path = join(folder, 'locked');
    await repository.putMany([{ id: 'a', text: 'x' }, { id: 'b' }, { id: 'c', text: 'gone' }]);
    await repository.update({ id: 'a' }, { text: 'y' });
    const query = repository.find({}, { fullScan: true });
    await exportEntities(locked.engine, query, schema, path, { format });
    const before = await query.select('text').all();
    await repository.purge({ id: 'a' });
    await repository.delete({ id: 'b' });
    await repository.update({ id: 'c' }, { text: 'new' });
    for (const [name, versions] of [
      ['first', [1, 3, 3]],
      ['again', [2, 4, 4]],
    ] as const) {
      await importEntities(locked.engine, repository, schema, [path], { name, format });
      expect(await query.select('text').all()).toEqual(before);
      expect((await query.all()).map(({ version }) => version)).toEqual(versions);
    }
    // Three numbers make two keys, so that a key comes twice in one batch.
    const options = { rows: 3, properties: { id: { values: 2 }, text: { values: 1 } } };
    await synthesize(locked.engine, repository, schema, options);
  },
);

test.each(formats)('values at the limits come back as %s', async (format) => {
  const either = avroCodec<string | Uint8Array | bigint>([
    'string',
    'bytes',
    { type: 'long', jsType: 'bigint' },
  ]);
  const Limits = defineEntity({
    name: 'Limits',
    table: defineTable({ name: 'limits', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      text: c.column('d:t', text).optional(),
      when: c.column('d:w', date).optional(),
      number: c.column('d:n', raw.float64).optional(),
      either: c.column('d:e', either).optional(),
    }),
  });
  const all = [
    { id: 'a', text: '\uFEFF', when: new Date(-8.64e15), number: Number.NaN, either: 5n },
    { id: 'b', text: '', when: new Date(8.64e15), number: -0, either: Buffer.from('abc') },
    { id: 'c', number: Number.NEGATIVE_INFINITY, either: '5' },
  ];
  await using from = await openMemory({ entities: [Limits] });
  await using into = await openMemory({ entities: [Limits] });
  const schema = from.schema.entity(Limits);
  const stored = from.repository(Limits);
  await stored.putMany(all);
  const query = stored.find({}, { fullScan: true });
  await exportEntities(from.engine, query, schema, join(folder, 'limits'), { format });
  await importEntities(into.engine, into.repository(Limits), schema, [join(folder, 'limits')], { format });
  const found = await into.repository(Limits).find({}, { fullScan: true }).all();
  expect(found).toEqual(await query.all());
});

test('fields of CSV that other programs wrote are values of the columns, also texts that look like JSON', async () => {
  const Written = defineEntity({
    name: 'Written',
    table: defineTable({ name: 'written', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      text: c.column('d:t', text).optional(),
      count: c.column('d:c', int64).optional(),
      when: c.column('d:w', date).optional(),
      raw: c.column('d:r', bytes).optional(),
      size: c.column('d:s', int32).optional(),
      share: c.column('d:f', float64).optional(),
      open: c.column('d:o', boolean).optional(),
      kept: c.json('d:k').optional(),
    }),
  });
  const path = join(folder, 'written.csv');
  const texts = ['{"a":1}', '[1', '[2]', '12', ' 5 ', '-0', '1e5', 'true', 'null', 'say "hi"', '"q"'];
  const records = texts.map(
    (field, at) => `t${String(at).padStart(2, '0')},"${field.replaceAll('"', '""')}"`,
  );
  records.push(
    'v1,,12,2026-11-28T10:00:00Z,1234,7,0.5,true,"{""a"":[1]}"',
    'v2,,-9007199254740993,,YWJj,-7,1e3,false,7',
  );
  await writeFile(path, `id,text,count,when,raw,size,share,open,kept\n${records.join('\n')}\n`);
  await using written = await openMemory({ entities: [Written] });
  const repository = written.repository(Written);
  await importEntities(written.engine, repository, written.schema.entity(Written), [path], { format: 'csv' });
  const found = await repository.find({}, { fullScan: true }).all();
  expect(found.flatMap((one) => one.text ?? [])).toEqual([
    ...['{"a":1}', '[1', '[2]', '12', ' 5 ', '-0', '1e5', 'true', 'null', 'say "hi"', 'q'],
  ]);
  expect(found.slice(-2)).toMatchObject([
    {
      count: 12n,
      when: new Date('2026-11-28T10:00:00Z'),
      raw: new Uint8Array(Buffer.from('1234', 'base64')),
      size: 7,
      share: 0.5,
      open: true,
      kept: { a: [1] },
    },
    {
      count: -9007199254740993n,
      raw: new Uint8Array(Buffer.from('abc')),
      size: -7,
      share: 1000,
      open: false,
      kept: 7,
    },
  ]);
});

test('a value that its column does not take is named as it is in the file', async () => {
  const Typed = defineEntity({
    name: 'Typed',
    table: defineTable({ name: 'typed', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      count: c.column('d:c', int64).optional(),
      when: c.column('d:w', date).optional(),
      raw: c.column('d:r', bytes).optional(),
      size: c.column('d:s', int32).optional(),
    }),
  });
  await using typed = await openMemory({ entities: [Typed] });
  const repository = typed.repository(Typed);
  const path = join(folder, 'typed.csv');
  for (const [record, message] of [
    ['a,1.5,,,', 'property "count": int64 cannot hold "1.5"'],
    ['a,,soon,,', 'property "when": date cannot hold "soon"'],
    ['a,,,%,', 'property "raw": bytes cannot hold "%"'],
    ['a,,,,many', 'property "size": int32 cannot hold "many"'],
    ['a,,,,5000000000', 'property "size": int32 cannot hold 5000000000'],
  ] as const) {
    await writeFile(path, `id,count,when,raw,size\n${record}\n`);
    const schema = typed.schema.entity(Typed);
    const importing = importEntities(typed.engine, repository, schema, [path], {
      format: 'csv',
      name: record,
    });
    await expect(importing).rejects.toThrow(message);
  }
});

test('what is exported comes back, every value of it, and no other entity of the table', async () => {
  const repository = db.repository(Thing);
  const entity = db.schema.entity(Thing);
  let round = 0;
  await fc.assert(
    fc.asyncProperty(things, fc.constantFrom(...formats), async (all, format) => {
      const path = join(folder, String(round++));
      for (const { id } of await repository.find({}, { fullScan: true }).all())
        await repository.delete({ id });
      await repository.putMany(all.map((values) => Object.assign(new Thing(), values)));
      await db.repository(Other).put(Object.assign(new Other(), { id: Uint8Array.of(1), text: 'x' }));
      const query = repository.find({}, { fullScan: true });
      const before = await query.all();
      const name = `e${round}`;
      const { counters } = await exportEntities(db.engine, query, entity, path, { name, format });
      expect(counters['entities'] ?? 0).toBe(all.length);
      for (const { id } of all) await repository.delete({ id });
      const imported = await importEntities(db.engine, repository, entity, [path], {
        name: `i${round}`,
        format,
      });
      expect(imported.counters['entities'] ?? 0).toBe(all.length);
      expect(await query.all()).toEqual(before);
    }),
    { numRuns: scaled(1, 12, 400) },
  );
});

test('a bulk load of entities leaves what an import leaves, whoever died on the way', async () => {
  const repository = db.repository(Thing);
  const schema = db.schema.entity(Thing);
  const stored = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { cells } of db.engine.table('file_things').scan(new Scan())) {
      for (const { row, qualifier, value } of cells)
        found.push([row, qualifier, value].map((bytes) => Buffer.from(bytes).toString('hex')).join());
    }
    return found;
  };
  const empty = async (): Promise<void> => {
    await db.engine.admin.disableTable('file_things');
    await db.engine.admin.truncateTable('file_things', true);
  };
  let round = 0;
  await fc.assert(
    fc.asyncProperty(
      things.filter((all) => all.length > 0),
      fc.constantFrom(...formats),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      async (all, format, deaths) => {
        const path = join(folder, String(round++));
        await empty();
        await repository.putMany(all.map((values) => Object.assign(new Thing(), values)));
        const query = repository.find({}, { fullScan: true });
        await exportEntities(db.engine, query, schema, path, { name: `be${round}`, format });
        const before = await stored();
        await empty();
        const options: BulkLoadToolOptions = {
          format,
          entities: { target: repository, schema },
          folder: join(folder, 'sorting'),
          name: `bulk${round}`,
          run: { batchRows: 3, checkpointRows: 4 },
        };
        for (const lives of deaths) {
          const { engine } = workerOn(db.engine, { lives });
          await bulkLoadFiles(engine, 'file_things', [path], options).catch(() => undefined);
        }
        const { counters } = await bulkLoadFiles(db.engine, 'file_things', [path], options);
        expect(counters['entities']).toBe(all.length);
        expect(await stored()).toEqual(before);
      },
    ),
    { numRuns: scaled(1, 12, 400) },
  );
});

test('a line that is no entity is named, or counted', async () => {
  const path = join(folder, 'things.ndjson');
  await writeFile(path, '{"id":"AQ=="}\n{"id":5}\n\nnonsense\n[]\n{"id":"Ag==","bogus":1}\n{"id":"Aw=="}\n');
  const entity = db.schema.entity(Thing);
  const repository = db.repository(Thing);
  await expect(importEntities(db.engine, repository, entity, [path])).rejects.toThrow(
    `The item at byte 14 of ${path} is not a valid Thing`,
  );
  await writeFile(join(folder, 'nonsense.ndjson'), 'nonsense\n');
  await expect(
    importEntities(db.engine, repository, entity, [join(folder, 'nonsense.ndjson')], { name: 'nonsense' }),
  ).rejects.toThrow(
    /is not a valid Thing: Unexpected token .*JSON\. Correct it, or skip bad lines \(skipBadLines: true; --skip-bad-lines\)\.$/,
  );
  const bad: number[] = [];
  const { counters } = await importEntities(db.engine, repository, entity, [path], {
    name: 'again',
    skipBadLines: true,
    onBadLine: ({ offset }) => bad.push(offset),
  });
  expect(counters).toEqual({ entities: 2, 'bad lines': 4 });
  expect(bad).toEqual([14, 24, 33, 36]);
  await expect(importEntities(db.engine, repository, entity, [join(folder, 'none')])).rejects.toThrow(
    'cannot be read',
  );
});

test('files are lines of plain JSON', async () => {
  const thing = Object.assign(new Thing(), {
    id: Uint8Array.of(1),
    number: 5n,
    when: new Date(0),
    text: null,
  });
  await db.repository(Thing).put(thing);
  const query = db.repository(Thing).find({}, { fullScan: true });
  await exportEntities(db.engine, query, db.schema.entity(Thing), folder);
  const lines = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  expect(JSON.parse(lines.join(''))).toMatchObject({
    id: 'AQ==',
    number: '5',
    when: '1970-01-01T00:00:00.000Z',
  });
});

test('imports and synthetic rows of entities of one name over two tables are jobs of their own', async () => {
  const file = join(folder, 'rows.ndjson');
  await writeFile(file, '{"id":"a"}\n');
  const jobs = new Set<string>();
  for (const table of ['first_rows', 'second_rows']) {
    const Row = defineEntity({
      name: 'Row',
      table: defineTable({ name: table, families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ text: c.column('d:t', text).optional() }),
    });
    await using own = await openMemory({ entities: [Row] });
    const rows = own.repository(Row);
    jobs.add((await importEntities(own.engine, rows, rows.schema, [file])).job);
    jobs.add((await synthesize(own.engine, rows, rows.schema, { rows: 1 })).job);
  }
  expect(jobs.size).toBe(4);
});

test.each(formats)('an export as %s over a larger one leaves none of its files', async (format) => {
  await using from = await openMemory({ entities: [Numbered] });
  await using into = await openMemory({ entities: [Numbered] });
  const [stored, { schema }] = [from.repository(Numbered), from.repository(Numbered)];
  await stored.putMany(
    Array.from({ length: 3000 }, (_, i) => ({ id: `k${10_000 + i}`, text: 'x'.repeat(50) })),
  );
  await from.admin.flush('numbered');
  const files = join(folder, 'over', format);
  const query = stored.find({}, { fullScan: true });
  await exportEntities(from.engine, query, schema, files, { format, run: { splitBytes: 20_000 } });
  const before = await readdir(files);
  await stored.find({ id: { gte: 'k10100' } }, { fullScan: true }).deleteAll();
  await exportEntities(from.engine, query, schema, files, { format });
  const after = await readdir(files);
  expect([before.length > after.length, after]).toEqual([true, [`part-00000.${format}`]]);
  await importEntities(into.engine, into.repository(Numbered), schema, [files], { format });
  expect(await into.repository(Numbered).find({}, { fullScan: true }).count()).toBe(100);
});

test('an export that has not ended is not imported, until it is repeated', async () => {
  await using from = await openMemory({ entities: [Numbered] });
  await using into = await openMemory({ entities: [Numbered] });
  const [stored, { schema }] = [from.repository(Numbered), from.repository(Numbered)];
  await stored.putMany(
    Array.from({ length: 3000 }, (_, i) => ({ id: `k${10_000 + i}`, text: 'x'.repeat(50) })),
  );
  const files = join(folder, 'unfinished');
  const query = stored.find({}, { fullScan: true });
  const stop = new AbortController();
  const run = { batchRows: 100, rowsPerSecond: 2000, signal: stop.signal, onProgress: () => stop.abort() };
  await expect(exportEntities(from.engine, query, schema, files, { run })).rejects.toThrow();
  expect((await readdir(files)).sort()).toEqual(['export.unfinished', 'part-00000.ndjson']);
  const importing = (): Promise<unknown> =>
    importEntities(into.engine, into.repository(Numbered), schema, [files]);
  await expect(importing()).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringMatching(/unfinished has an export that has not ended .*Repeat the export/),
  });
  const loading = bulkLoadFiles(into.engine, 'numbered', [files], {
    format: 'ndjson',
    folder: join(folder, 'sorted'),
    items: {},
    entities: { target: into.repository(Numbered), schema },
  } as BulkLoadToolOptions);
  await expect(loading).rejects.toThrow('has an export that has not ended');
  await exportEntities(from.engine, query, schema, files);
  expect(await readdir(files)).toEqual(['part-00000.ndjson']);
  await importing();
  expect(await into.repository(Numbered).find({}, { fullScan: true }).count()).toBe(3000);
});

const Numbered = defineEntity({
  name: 'Numbered',
  table: defineTable({ name: 'numbered', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ text: c.column('d:t', text) }),
});
