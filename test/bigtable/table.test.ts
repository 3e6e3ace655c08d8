import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromLatin1, toLatin1 } from '../../src/bytes/index.js';
import {
  Append,
  CheckAndMutate,
  comparators,
  Delete,
  type Engine,
  type Filter,
  filters,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { connectShared } from './connect.js';

let engine: Engine;
let made = 0;

beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

async function newTable(families: Parameters<typeof tableDescriptor>[1] = { f: {}, g: {} }): Promise<Table> {
  const name = `t${made++}`;
  await engine.admin.createTable(tableDescriptor(name, families));
  return engine.table(name);
}

const bytes = fromLatin1;

async function rowsOf(table: Table, scan: Scan): Promise<string[]> {
  const out: string[] = [];
  for await (const { row } of table.scan(scan)) out.push(toLatin1(row));
  return out;
}

async function codeOf(work: () => Promise<unknown> | unknown): Promise<string> {
  try {
    await work();
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe('a table of Bigtable', () => {
  it('keeps rows, qualifiers and values of any bytes', async () => {
    const table = await newTable();
    const row = Uint8Array.from({ length: 256 }, (_, i) => 255 - i);
    const qualifiers = ['', '\x00', '\xff', '\xff\xff', 'a|b.*', '\n'].map(bytes);
    const put = new Put(row);
    for (const qualifier of qualifiers) put.addColumn('f', qualifier, row);
    await table.put(put);
    const all = await table.get(new Get(row));
    expect(all.cells.map((cell) => toLatin1(cell.qualifier))).toEqual(
      qualifiers.map((name) => toLatin1(name)).sort(),
    );
    for (const qualifier of qualifiers) {
      const one = await table.get(new Get(row).addColumn('f', qualifier));
      expect(one.cells.map((cell) => toLatin1(cell.qualifier))).toEqual([toLatin1(qualifier)]);
      expect(Buffer.compare(one.cells[0]!.value, row)).toBe(0);
    }
  });

  it('gives large values whole, and refuses what is too large before it is sent', async () => {
    const table = await newTable();
    const value = new Uint8Array(3 * 2 ** 20).fill(7);
    await table.put(new Put('big').addColumn('f', 'q', value));
    expect((await table.get(new Get('big'))).cells[0]!.value.length).toBe(value.length);
    const large = new Uint8Array(4097).fill(1);
    expect(await codeOf(() => table.get(new Get(large)))).toBe('ERR_TOO_LARGE');
    expect(await codeOf(() => table.put(new Put(large).addColumn('f', 'q', '')))).toBe('ERR_TOO_LARGE');
    const long = new Uint8Array(16 * 1024 + 1);
    expect(await codeOf(() => table.put(new Put('r').addColumn('f', long, '')))).toBe('ERR_TOO_LARGE');
    const many = new Put('r');
    for (let i = 0; i <= 100_000; i++) many.addColumn('f', `${i}`, '');
    expect(await codeOf(() => table.put(many))).toBe('ERR_TOO_LARGE');
  });

  it('ends batches where their rows have as many bytes as asked for', async () => {
    const table = await newTable();
    const value = new Uint8Array(1000);
    await table.putAll(Array.from({ length: 5 }, (_, i) => new Put(`r${i}`).addColumn('f', 'q', value)));
    const scanner = table.scan(new Scan());
    const counts: number[] = [];
    do counts.push((await scanner.nextBatch(3, 1500)).length);
    while (counts.at(-1)! > 0);
    expect(counts).toEqual([2, 2, 1, 0]);
  });

  it('does the actions of a batch row by row in their order, with an outcome for each', async () => {
    const table = await newTable();
    const outcomes = await table.batch([
      new Put('a').addColumn('f', 'q', '1'),
      new Put('b').addColumn('nope', 'q', '1'),
      new Get('a'),
      new Put('a').addColumn('f', 'q', '2'),
      new Increment('c').addColumn('f', 'n', 5),
      CheckAndMutate.ifEquals('f', bytes('q'), bytes('2'), new Delete('a').addColumns('f', 'q')),
      CheckAndMutate.ifNotExists('f', bytes('q'), new Put('a').addColumn('f', 'q', '3')),
      new Get('a'),
    ]);
    expect(
      outcomes.map((one) => (one.ok ? (one.success ?? one.result.cells.length) : one.error.code)),
    ).toEqual([0, 'ERR_NO_SUCH_FAMILY', 1, 0, 1, true, true, 1]);
    expect(toLatin1((await table.get(new Get('a'))).cells[0]!.value)).toBe('3');
  });

  it('gives the answers of many gets in their order, whatever is asked for of each', async () => {
    const table = await newTable();
    await table.putAll(
      Array.from({ length: 50 }, (_, i) =>
        new Put(`r${i}`).addColumn('f', 'a', `a${i}`).addColumn('g', 'b', `b${i}`),
      ),
    );
    const gets = Array.from({ length: 100 }, (_, i) => {
      const get = new Get(`r${(i * 37) % 60}`);
      return i % 3 === 0 ? get.addFamily('g') : get;
    });
    const answers = await table.getAll(gets);
    for (const [i, answer] of answers.entries()) {
      const number = (i * 37) % 60;
      const all = i % 3 === 0 ? [`b${number}`] : [`a${number}`, `b${number}`];
      expect(answer.cells.map(({ value }) => toLatin1(value))).toEqual(number < 50 ? all : []);
    }
    expect(await table.exists(new Get('r7'))).toBe(true);
    expect(await table.exists(new Get('r7').addColumn('f', 'nope'))).toBe(false);
  });

  it('scans forwards and backwards between any bounds, up to a limit', async () => {
    const table = await newTable();
    const rows = ['a', 'a\x00', 'b', 'c', 'c\xff', 'd'];
    await table.putAll(rows.map((row) => new Put(bytes(row)).addColumn('f', 'q', row)));
    for (const from of ['', 'a', 'a\x00', 'bb', 'd', 'x']) {
      for (const to of ['', 'a', 'b', 'c\xff', 'd', 'x']) {
        for (const [fromIn, toIn] of [
          [true, true],
          [true, false],
          [false, true],
          [false, false],
        ] as const) {
          const expected = rows.filter((row) => {
            const low = from === '' || row > from || (fromIn && row === from);
            return low && (to === '' || row < to || (toIn && row === to));
          });
          const forwards = new Scan().withStartRow(bytes(from), fromIn).withStopRow(bytes(to), toIn);
          expect(await rowsOf(table, forwards.setLimit(2))).toEqual(expected.slice(0, 2));
          const backwards = new Scan()
            .setReversed(true)
            .withStartRow(bytes(to), toIn)
            .withStopRow(bytes(from), fromIn);
          expect(await rowsOf(table, backwards)).toEqual(expected.reverse());
        }
      }
    }
  }, 60_000);

  it('decides checks by filters as the filters decide reads', async () => {
    const table = await newTable();
    const column = (
      name: string,
      operator: 'EQUAL' | 'LESS' | 'GREATER',
      value: string,
      missing = true,
    ): Filter => filters.singleColumnValue('f', name, operator, value, { filterIfMissing: missing });
    const conditions: readonly Filter[] = [
      column('a', 'EQUAL', '1'),
      column('a', 'LESS', '1'),
      column('none', 'EQUAL', '1'),
      column('none', 'EQUAL', '1', false),
      filters.singleColumnValue('f', 'a', 'LESS', '', { filterIfMissing: false }),
      filters.singleColumnValue('f', 'none', 'LESS', '', { filterIfMissing: false }),
      filters.all(column('a', 'EQUAL', '1'), column('b', 'GREATER', '1')),
      filters.all(column('a', 'EQUAL', '1'), column('b', 'GREATER', '3')),
      filters.any(column('a', 'EQUAL', '7'), column('b', 'GREATER', '1')),
      filters.any(
        column('a', 'EQUAL', '7'),
        filters.all(column('b', 'EQUAL', '2'), column('none', 'EQUAL', '', false)),
      ),
      filters.singleColumnValue('f', 'b', 'EQUAL', comparators.regex('^[12]$'), { filterIfMissing: true }),
      filters.singleColumnValue('f', 'b', 'EQUAL', comparators.binaryPrefix('2'), { filterIfMissing: true }),
      filters.value('EQUAL', '2'),
    ];
    await table.put(new Put('r').addColumn('f', 'a', '1').addColumn('f', 'b', '2').addColumn('g', 'x', ''));
    const answers: boolean[] = [];
    for (const filter of conditions) {
      const found = !(await table.get(new Get('r').setFilter(filter))).isEmpty;
      const { success } = await table.checkAndMutate(
        CheckAndMutate.ifFilter(filter, new Put('r').addColumn('g', 'y', '')),
      );
      expect([filter, success]).toEqual([filter, found]);
      const rows = await rowsOf(table, new Scan().setFilter(filter));
      expect([filter, rows.length > 0]).toEqual([filter, found]);
      answers.push(found);
    }
    expect(answers).toEqual([
      true,
      false,
      false,
      true,
      false,
      true,
      true,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('loses no change of those that are worked out here, whoever else changes the row', async () => {
    const table = await newTable();
    const both = (): Promise<unknown> =>
      table.mutateRow(
        new RowMutations('r').add(
          new Increment('r').addColumn('f', 'n', 1),
          new Append('r').addColumn('g', 'text', 'x'),
          new Put('r').addColumn('f', 'last', 'yes'),
        ),
      );
    await Promise.all(Array.from({ length: 12 }, both));
    const row = await table.get(new Get('r'));
    expect(Buffer.from(row.getValue('f', 'n')!).readBigInt64BE()).toBe(12n);
    expect(toLatin1(row.getValue('g', 'text')!)).toBe('x'.repeat(12));
    const answer = await table.mutateRow(
      new RowMutations('r').add(new Increment('r').addColumn('f', 'n', 3)),
    );
    expect(Buffer.from(answer.cells[0]!.value).readBigInt64BE()).toBe(15n);
  });

  it('begins a counter that has expired anew', async () => {
    const table = await newTable({ f: { ttl: 3600 } });
    await table.put(new Put('r').addColumn('f', 'n', Buffer.alloc(8, 1), Date.now() - 7_200_000));
    const { cells } = await table.increment(new Increment('r').addColumn('f', 'n', 2));
    expect(Buffer.from(cells[0]!.value).readBigInt64BE()).toBe(2n);
  });

  it('ends calls and scans that are aborted, and those of a closed engine', async () => {
    const table = await newTable();
    await table.putAll(Array.from({ length: 300 }, (_, i) => new Put(`r${i}`).addColumn('f', 'q', 'v')));
    const gone = AbortSignal.abort();
    expect(await codeOf(() => table.get(new Get('r1'), { signal: gone }))).toBe('ERR_ABORTED');
    const controller = new AbortController();
    const scanner = table.scan(new Scan(), { signal: controller.signal });
    expect((await scanner.next())?.isEmpty).toBe(false);
    controller.abort();
    expect(
      await codeOf(async () => {
        while ((await scanner.next()) !== undefined);
      }),
    ).toBe('ERR_ABORTED');
    const other = await connectShared();
    await other.close();
    expect(await codeOf(() => other.table('t'))).toBe('ERR_CLOSED');
    expect(await codeOf(() => table.get(new Get('r1'), { timeout: 0 }))).toBe('ERR_INVALID_ARGUMENT');
    expect(await codeOf(() => table.get(new Get('r1'), { timeout: 0.001 }))).toBe('ERR_TIMEOUT');
  });
});
