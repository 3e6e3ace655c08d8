import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { positionOfRow, rowOfPosition } from '../../src/job/files/file-position.js';
import { csvFields, csvLine } from '../../src/job/files/line-files.js';
import {
  avroFiles,
  avroSource,
  csvFiles,
  csvSource,
  JobBuilder,
  ndjsonFiles,
  ndjsonSource,
  type Sink,
  tableSource,
} from '../../src/job/index.js';
import type { JobQuery } from '../../src/job/pipeline/source.js';
import type { JobRunOptions } from '../../src/job/types.js';
import { type Engine, Put, type Result, Scan, tableDescriptor } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { memoryStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-formats-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Item {
  readonly id: string;
  readonly text: string;
}

const SCHEMA = {
  type: 'record',
  name: 'Item',
  fields: ['id', 'text'].map((name) => ({ name, type: 'string' })),
};

/** A sink and a source of each format. */
const FORMATS: readonly {
  readonly name: string;
  readonly sink: (folder: string) => Sink<Item>;
  readonly source: (folder: string) => JobQuery<unknown>;
}[] = [
  { name: 'ndjson', sink: ndjsonFiles, source: (path) => ndjsonSource([path]) },
  {
    name: 'csv',
    sink: (path) => csvFiles(path, { columns: ['id', 'text'] }),
    source: (path) => csvSource([path]),
  },
  { name: 'avro', sink: (path) => avroFiles(path, SCHEMA), source: (path) => avroSource([path]) },
];

async function storeOf(texts: readonly string[]) {
  const { engine } = await memoryStore();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }), [Buffer.from('r0003')]);
  const puts = texts.map((text, i) => new Put(`r${String(i).padStart(4, '0')}`).addColumn('f', 't', text));
  if (puts.length > 0) await engine.table('t').putAll(puts);
  return engine;
}

const itemOf = (row: Result): Item => ({
  id: Buffer.from(row.row).toString(),
  text: Buffer.from(row.getValue('f', 't') ?? []).toString(),
});

function exporting(engine: Engine, sink: Sink<Item>) {
  return new JobBuilder(engine, 'out')
    .from(tableSource('t', () => new Scan()))
    .map<number, Item>((row, emit) => emit(0, itemOf(row)))
    .to(sink);
}

/** Every item that the source gives, as often as it gives it where nobody dies. */
function collecting(engine: Engine, source: JobQuery<unknown>, into: Item[], name = 'in') {
  return new JobBuilder(engine, name).from(source).to({
    signature: 'list',
    open: () => ({
      write(items) {
        into.push(...(items as Item[]));
      },
    }),
  });
}

const SMALL: JobRunOptions = {
  batchRows: 2,
  checkpointRows: 3,
  checkpointMs: 60_000,
  parallel: 2,
  leaseMs: 20,
};

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('"', '\n', '\r', ',', 'a', ' ') }),
);

describe.each(FORMATS)('files of $name', ({ sink, source }) => {
  test('have every item once, whoever died when, and give each back', async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
        async (texts, deaths) => {
          const engine = await storeOf(texts);
          const path = join(folder, String(round++));
          for (const lives of [...deaths, undefined]) {
            const worker = workerOn(engine, lives === undefined ? {} : { lives });
            await exporting(worker.engine, sink(path))
              .run(SMALL)
              .catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONNECTION' }));
          }
          const wanted = texts.map((each, i) => ({ id: `r${String(i).padStart(4, '0')}`, text: each }));
          const found: Item[] = [];
          await collecting(engine, source(path), found).run(SMALL);
          expect(found.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(wanted);
          // A reader that dies goes on: what it had not checkpointed comes again, nothing is missing.
          const again: Item[] = [];
          for (const lives of [...deaths, undefined]) {
            const worker = workerOn(engine, lives === undefined ? {} : { lives });
            await collecting(worker.engine, source(path), again, 'again')
              .run(SMALL)
              .catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONNECTION' }));
          }
          expect(new Set(again.map(({ id }) => id))).toEqual(new Set(wanted.map(({ id }) => id)));
          await engine.close();
        },
      ),
      { numRuns: scaled(1, 10, 400) },
    );
  });
});

test('records of CSV are read back as they were written', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1 }), fc.constantFrom(',', ';', '\t'), (fields, separator) => {
      expect(csvFields(csvLine(fields, separator), separator)).toEqual(fields);
    }),
    { numRuns: scaled(10, 100, 3000) },
  );
});

test('positions in files of any size are rows in their order', () => {
  const offset = fc.oneof(fc.nat(), fc.integer({ min: 2 ** 32 - 3, max: 2 ** 53 - 1 }));
  const position = fc.record({ file: fc.integer({ min: 0, max: 2 ** 32 - 1 }), offset });
  fc.assert(
    fc.property(position, position, (one, other) => {
      const row = rowOfPosition(one);
      expect(positionOfRow(row)).toEqual(one);
      const order = Math.sign(one.file - other.file || one.offset - other.offset);
      expect(Buffer.compare(row, rowOfPosition(other))).toBe(order);
    }),
  );
});

test('names of properties that objects of JavaScript have are names of fields', async () => {
  const engine = await storeOf([]);
  const lines = join(folder, 'names.ndjson');
  await writeFile(
    lines,
    '{"id":"a","__proto__":{"$bigint":"5"},"in":{"constructor":{"$date":"2026-11-28T00:00:00.000Z"}}}\n',
  );
  const found: Item[] = [];
  await collecting(engine, ndjsonSource([lines]), found).run(SMALL);
  expect(Object.getPrototypeOf(found[0])).toBe(Object.prototype);
  expect(Object.getOwnPropertyDescriptor(found[0], '__proto__')?.value).toBe(5n);
  expect(found[0]).toMatchObject({ in: { constructor: new Date('2026-11-28') } });
  const records = join(folder, 'names.csv');
  await writeFile(records, 'id,__proto__\nb,x\n');
  const named: Item[] = [];
  await collecting(engine, csvSource([records]), named).run({ ...SMALL, restart: true });
  expect(Object.getOwnPropertyDescriptor(named[0], '__proto__')?.value).toBe('x');
});

test('records of CSV are read as the library reads them, and refused where it refuses them', () => {
  const pieces = fc.constantFrom('"', '""', ',', ';', 'a', 'b c', '\n', '\r', ' ', '\ufeff', 'é');
  const line = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(''));
  const outcome = (read: () => string[]): string[] | 'refused' => {
    try {
      return read();
    } catch {
      return 'refused';
    }
  };
  fc.assert(
    fc.property(line, fc.constantFrom(',', ';'), (record, delimiter) => {
      const options = { delimiter, relax_column_count: true, record_delimiter: '\n' };
      // Lines without quotes are one record each, whatever is in them.
      fc.pre(record.includes('"'));
      const records = outcome(() => parse(record, options).map((all) => all.join('\0')));
      const wanted = records === 'refused' || records.length > 1 ? records : records[0]?.split('\0');
      const found = outcome(() => csvFields(record, delimiter));
      if (wanted !== 'refused' && records.length > 1) return;
      expect(found).toEqual(wanted);
    }),
    { numRuns: scaled(300, 3000, 100_000) },
  );
});

test('CSV of other programs: a byte order mark, ends of lines of Windows, names given, records that are too long', async () => {
  const engine = await storeOf([]);
  const path = join(folder, 'other.csv');
  await writeFile(path, '\ufeffid;text\r\n1;"a\r\n""b"""\r\n\r\n2;\r\n3\r\n');
  const found: Item[] = [];
  await collecting(engine, csvSource([path], { separator: ';' }), found).run(SMALL);
  expect(found).toEqual([{ id: '1', text: 'a\r\n"b"' }, { id: '2', text: '' }, { id: '3' }]);
  const named: Item[] = [];
  await writeFile(path, '1,x\n2,y,z\n');
  await expect(
    collecting(engine, csvSource([path], { columns: ['id', 'text'] }), named).run({ restart: true }),
  ).rejects.toThrow(
    `The item at byte 4 of ${path} cannot be read: It has 3 fields, but there are 2 columns.`,
  );
  await engine.close();
});

test('JSON lines of other programs: a byte order mark, ends of lines of Windows, empty lines at the end', async () => {
  const engine = await storeOf([]);
  const path = join(folder, 'other.ndjson');
  await writeFile(path, '\ufeff{"id":"1","text":"\ufeff"}\r\n{"id":"2"}\r\n\r\n  \r\n\n');
  const found: Item[] = [];
  await collecting(engine, ndjsonSource([path]), found).run(SMALL);
  expect(found).toEqual([{ id: '1', text: '\ufeff' }, { id: '2' }]);
  await engine.close();
});

test.each([
  [
    'in another encoding',
    Buffer.from('id,text\r\n1,caf\xe9\r\n', 'latin1'),
    'at byte 9 of PATH cannot be read: It is not UTF-8',
  ],
  [
    'whose names are',
    Buffer.from('id,caf\xe9\r\n', 'latin1'),
    'first record of PATH does not name the columns: It is not UTF-8',
  ],
  ['that names a column twice', 'id,text,text\n1,a,b\n', '"text" occurs twice'],
  ['with ends of lines of old Macs', 'id,text\r1,a\r2,b\r', 'It has a carriage return.'],
  ['in UTF-16', Buffer.from('\ufeffid,text\r\n1,a\r\n', 'utf16le'), 'PATH is UTF-16'],
  ['compressed', gzipSync('id,text\n1,a\n'), 'PATH is compressed by gzip'],
])('CSV %s is refused, and not read as something else', async (_, bytes, message) => {
  const engine = await storeOf([]);
  const path = join(folder, 'other.csv');
  await writeFile(path, bytes);
  await expect(collecting(engine, csvSource([path]), []).run(SMALL)).rejects.toThrow(
    message.replace('PATH', path),
  );
  await engine.close();
});

test('CSV whose records end with empty fields, as of spreadsheets', async () => {
  const engine = await storeOf([]);
  const path = join(folder, 'other.csv');
  await writeFile(path, 'id,text,,\n1,a,,\n');
  const found: Item[] = [];
  await collecting(engine, csvSource([path]), found).run(SMALL);
  expect(found).toEqual([{ id: '1', text: 'a', '': '' }]);
  await engine.close();
});

describe('Avro files that are damaged or hostile', () => {
  async function read(bytes: Uint8Array): Promise<Item[]> {
    const engine = await storeOf([]);
    const path = join(folder, 'given.avro');
    await writeFile(path, bytes);
    const found: Item[] = [];
    try {
      await collecting(engine, avroSource([path]), found).run(SMALL);
      return found;
    } finally {
      await engine.close();
    }
  }

  async function written(): Promise<Buffer> {
    const engine = await storeOf(['one', 'two']);
    await exporting(engine, avroFiles(join(folder, 'w'), SCHEMA)).run();
    await engine.close();
    return readFile(join(folder, 'w', (await readdir(join(folder, 'w')))[0]!));
  }

  test('any cut or changed byte is noticed, or changes nothing but the header', async () => {
    const bytes = await written();
    const whole = await read(bytes);
    expect(whole).toHaveLength(2);
    const header = bytes.indexOf(bytes.subarray(-16)) + 16;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: bytes.length - header - 1 }), async (cut) => {
        await expect(read(bytes.subarray(0, bytes.length - cut))).rejects.toMatchObject({
          code: 'ERR_CORRUPTION',
        });
      }),
      { numRuns: scaled(1, 10, 300) },
    );
    await expect(read(Buffer.from('Obj\x02'))).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
    await expect(read(Buffer.alloc(0))).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  });

  test('counts that no file could hold are refused at once', async () => {
    const bytes = await written();
    const sync = bytes.subarray(-16);
    const header = bytes.subarray(0, bytes.indexOf(sync) + 16);
    const data = deflateRawSync(Buffer.alloc(0));
    const many = Buffer.from([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07]);
    const block = Buffer.concat([many, Buffer.of(2 * data.length), data, sync]);
    await expect(read(Buffer.concat([header, block]))).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
    const long = Buffer.concat([Buffer.of(2), many, sync]);
    await expect(read(Buffer.concat([header, long]))).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  });
});
