/** Scans pass over ranges of rows without visible cells. They are held against gets, which know of no ranges. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineEntity, defineTable, open, part, text, uint32 } from '../../../src/index.js';
import { EmptyRanges } from '../../../src/store/read/empty-ranges.js';
import type { TableScanner } from '../../../src/store/read/table-scanner.js';
import {
  Delete,
  type FamilyOptions,
  Get,
  Put,
  parseFilter,
  type Result,
  type RowMutation,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { createTable, memoryStore, put, type TestStore } from '../engine/support.js';

const ROWS = 120;
/** The time at which a store of the tests is created. */
const NOW = 1_700_000_000_000;
const FAMILIES = ['f', 'g'];
const rowOf = (n: number): Buffer => Buffer.from(String(n).padStart(3, '0'));

/** A scan, and the same question to each row. */
interface Question {
  readonly from: number;
  readonly to: number;
  readonly reversed: boolean;
  readonly limit: number | undefined;
  readonly family: string | undefined;
  readonly qualifier: string | undefined;
  readonly filter: string | undefined;
  readonly minTimestamp: number;
}

type Step =
  | {
      readonly kind: 'put' | 'delete';
      readonly from: number;
      readonly count: number;
      readonly family: string;
      readonly age: number;
    }
  | { readonly kind: 'later'; readonly row: number }
  | { readonly kind: 'flush' | 'compact' | 'major' | 'open' | 'read' | 'split' }
  | { readonly kind: 'time'; readonly by: number }
  | { readonly kind: 'alter'; readonly ttl: number; readonly keep: boolean }
  | { readonly kind: 'transaction'; readonly puts: readonly number[]; readonly question: Question }
  | { readonly kind: 'scan'; readonly question: Question };

const row = fc.nat(ROWS - 1);
const rows = fc
  .tuple(fc.oneof(fc.constant(0), row), fc.oneof({ weight: 2, arbitrary: fc.constant(ROWS) }, row))
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) + (a === b ? 1 : 0) }));
const rest = fc.record({
  reversed: fc.boolean(),
  limit: fc.option(fc.constantFrom(1, 2, 30), { nil: undefined }),
  family: fc.option(fc.constantFrom(...FAMILIES), { nil: undefined }),
  qualifier: fc.option(fc.constantFrom('q', 'r'), { nil: undefined, freq: 4 }),
  filter: fc.option(fc.constantFrom("ValueFilter(=, 'binary:x')", "PrefixFilter('0')"), {
    nil: undefined,
    freq: 4,
  }),
  minTimestamp: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.constant(NOW)),
});
const question: fc.Arbitrary<Question> = fc.tuple(rows, rest).map(([a, b]) => ({ ...a, ...b }));
const span = fc.record({
  from: row,
  count: fc.constantFrom(1, 1, 20, 60, ROWS),
  family: fc.constantFrom(...FAMILIES, 'both'),
  age: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(1, 5000)),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: span.map((at): Step => ({ kind: 'put', ...at })) },
  { weight: 5, arbitrary: span.map((at): Step => ({ kind: 'delete', ...at })) },
  { weight: 2, arbitrary: row.map((n): Step => ({ kind: 'later', row: n })) },
  fc.constantFrom<Step>(
    { kind: 'flush' },
    { kind: 'compact' },
    { kind: 'major' },
    { kind: 'open' },
    { kind: 'read' },
    { kind: 'split' },
  ),
  fc.constantFrom(1, 1500, 4000, -2000).map((by): Step => ({ kind: 'time', by })),
  fc
    .tuple(fc.constantFrom(1, 3, 1000), fc.boolean())
    .map(([ttl, keep]): Step => ({ kind: 'alter', ttl, keep })),
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(row, { maxLength: 2 }), question)
      .map(([puts, asked]): Step => ({ kind: 'transaction', puts, question: asked })),
  },
  { weight: 8, arbitrary: question.map((asked): Step => ({ kind: 'scan', question: asked })) },
);

function textOf({ cells }: Result): string {
  return cells
    .map((cell) => `${Buffer.from(cell.row)} ${cell.family}:${Buffer.from(cell.qualifier)} ${cell.timestamp}`)
    .join();
}

function asked<Q extends Get | Scan>(query: Q, { family, qualifier, filter, minTimestamp }: Question): Q {
  for (const name of family === undefined ? FAMILIES : [family]) {
    if (qualifier === undefined) query.addFamily(name);
    else query.addColumn(name, qualifier);
  }
  if (filter !== undefined) query.setFilter(parseFilter(filter));
  if (minTimestamp > 0) query.setTimeRange(minTimestamp, Number.MAX_SAFE_INTEGER);
  return query;
}

function scanOf(q: Question): Scan {
  const [start, stop] = q.reversed ? [q.to - 1, q.from - 1] : [q.from, q.to];
  const scan = asked(new Scan(), q).setReversed(q.reversed).setLimit(q.limit);
  if (start >= 0) scan.withStartRow(rowOf(start));
  if (stop >= 0) scan.withStopRow(rowOf(stop));
  return scan;
}

/** What the scan returns, read by one get for each row. */
function byGets(table: SyncTable, q: Question): string[] {
  const rows: string[] = [];
  for (let n = q.from; n < q.to; n++) {
    const result = table.getSync(asked(new Get(rowOf(n)), q));
    if (!result.isEmpty) rows.push(textOf(result));
  }
  if (q.reversed) rows.reverse();
  return rows.slice(0, q.limit);
}

class Program {
  private readonly pending: Promise<unknown>[] = [];
  private readonly opened: { readonly scanner: Iterable<Result>; readonly expected: string[] }[] = [];
  readonly table: SyncTable;

  constructor(private readonly store: TestStore) {
    this.table = store.engine.table('t') as SyncTable;
  }

  async run(one: Step): Promise<void> {
    const { store, table } = this;
    const { admin } = store.engine;
    switch (one.kind) {
      case 'put':
      case 'delete':
        await table.batch(this.changesOf(one));
        return;
      case 'later':
        this.pending.push(table.put(new Put(rowOf(one.row)).addColumn('f', 'q', 'x')));
        return;
      case 'flush':
        return await admin.flush('t');
      case 'compact':
        return await admin.compact('t');
      case 'major':
        return await admin.majorCompact('t');
      case 'split':
        return await admin.split('t', rowOf(60)).then(undefined, () => undefined);
      case 'time':
        store.now += one.by;
        return;
      case 'alter': {
        const family = { ttl: one.ttl, keepDeletedCells: one.keep ? 'TRUE' : 'FALSE' } as const;
        return await admin.modifyTable(tableDescriptor('t', { f: family, g: {} }));
      }
      case 'open': {
        const all = { ...EVERYTHING };
        this.opened.push({ scanner: table.scanSync(scanOf(all)), expected: byGets(table, all) });
        return;
      }
      case 'read':
        this.readOpened();
        return;
      case 'transaction':
        await store.engine.transaction(async (transaction) => {
          const own = transaction.table('t');
          this.ask(own, one.question);
          for (const n of one.puts) await own.put(new Put(rowOf(n)).addColumn('f', 'q', 'x'));
          this.ask(own, one.question);
        });
        return;
      case 'scan':
        this.ask(table, one.question);
    }
  }

  async end(): Promise<void> {
    this.readOpened();
    await Promise.all(this.pending);
    this.ask(this.table, EVERYTHING);
    await this.store.engine.close();
  }

  private readOpened(): void {
    for (const { scanner, expected } of this.opened.splice(0))
      expect([...scanner].map(textOf)).toEqual(expected);
  }

  /** Twice: the second scan knows what the first has found. */
  private ask(table: SyncTable, q: Question): void {
    const expected = byGets(table, q);
    for (let i = 0; i < 2; i++) expect([...table.scanSync(scanOf(q))].map(textOf)).toEqual(expected);
  }

  private changesOf({
    kind,
    from,
    count,
    family,
    age,
  }: Extract<Step, { kind: 'put' | 'delete' }>): RowMutation[] {
    const changes: RowMutation[] = [];
    const names = family === 'both' ? FAMILIES : [family];
    const time = age === 0 ? undefined : this.store.now - age;
    for (let n = from; n < Math.min(ROWS, from + count); n++) {
      const change = kind === 'put' ? new Put(rowOf(n)) : new Delete(rowOf(n));
      for (const name of names) {
        if (change instanceof Delete) change.addFamily(name, time);
        else change.addColumn(name, n % 3 === 0 ? 'r' : 'q', n % 2 === 0 ? 'x' : 'y', time);
      }
      changes.push(change);
    }
    return changes;
  }
}

const EVERYTHING: Question = {
  from: 0,
  to: ROWS,
  reversed: false,
  limit: undefined,
  family: undefined,
  qualifier: undefined,
  filter: undefined,
  minTimestamp: 0,
};

/** A table of which 100 rows had cells, and none is visible any more. Its scans know that. */
async function deletedRows(family: FamilyOptions = {}): Promise<TestStore & { readonly table: SyncTable }> {
  const store = await memoryStore();
  const table = (await createTable(store.engine, { f: family })) as SyncTable;
  await table.putAll(names(100).map((name) => put(name, 'x')));
  await table.batch(names(100).map((name) => new Delete(name)));
  expect([...table.scanSync(new Scan())]).toEqual([]);
  return Object.assign(store, { table });
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => rowOf(n).toString());
const rowsOf = (table: SyncTable, scan = new Scan()): string[] =>
  [...table.scanSync(scan)].map(({ row: bytes }) => Buffer.from(bytes).toString());

describe('ranges', () => {
  test('are merged where they touch, and divided by puts', () => {
    const ranges = new EmptyRanges();
    const at = (text: string): string | undefined => {
      const range = ranges.find(Buffer.from(text), 9, 9);
      return range && `${Buffer.from(range.start)}-${Buffer.from(range.end)}`;
    };
    ranges.add(Buffer.from('c'), Buffer.from('e'), 1, 1);
    ranges.add(Buffer.from('g'), Buffer.from(''), 2, 2);
    expect([at('b'), at('c'), at('dz'), at('e'), at('z')]).toEqual([
      undefined,
      'c-e',
      'c-e',
      undefined,
      'g-',
    ]);
    ranges.add(Buffer.from('e'), Buffer.from('f'), 1, 1);
    expect([at('e'), at('f')]).toEqual(['c-f', undefined]);
    ranges.cut(Buffer.from('xdx'), 1, 1);
    expect([at('c'), at('d'), at('d\0'), at('e')]).toEqual(['c-d', undefined, 'd\0-f', 'd\0-f']);
    ranges.add(Buffer.from('a'), Buffer.from('h'), 1, 1);
    expect([at('d'), at('z')]).toEqual(['a-', 'a-']);
  });

  test('are for readers that are as late as their finder', () => {
    const ranges = new EmptyRanges();
    ranges.add(Buffer.from('a'), Buffer.from('c'), 5, 100);
    expect(ranges.find(Buffer.from('b'), 4, 100)).toBeUndefined();
    expect(ranges.find(Buffer.from('b'), 5, 99)).toBeUndefined();
    expect(ranges.find(Buffer.from('b'), 5, 100)).toBeDefined();
  });

  test('are few', () => {
    const ranges = new EmptyRanges();
    ranges.add(Buffer.from('0'), Buffer.from('1'), 1, 1);
    for (let n = 0; n < 1000; n++) {
      ranges.add(Buffer.from(`5${rowOf(n)}`), Buffer.from(`5${rowOf(n)}x`), 1, 1);
      expect(ranges.find(Buffer.from('0'), 1, 1)).toBeDefined();
    }
    const left = Array.from({ length: 1000 }, (_, n) => ranges.find(Buffer.from(`5${rowOf(n)}`), 1, 1));
    expect(left.filter((range) => range !== undefined)).toHaveLength(31);
  });
});

describe('scans of deleted and expired rows', () => {
  test.each([false, true])(
    'pass over rows that an earlier scan has found deleted, reversed: %s',
    async (reversed) => {
      const { engine, table } = await deletedRows();
      await table.putAll([put('+', 'x'), put('z', 'x')]);
      await table.putAll(Array.from({ length: 9000 }, (_, n) => put(`5${rowOf(n)}`, 'x')));
      await table.batch(Array.from({ length: 9000 }, (_, n) => new Delete(`5${rowOf(n)}`)));
      const skipped = (): number => {
        const scanner = table.scanSync(new Scan().setReversed(reversed)) as TableScanner;
        scanner.maxSkipped = 1_000_000;
        expect(Buffer.from(scanner.next()!.row).toString()).toBe(reversed ? 'z' : '+');
        expect(Buffer.from(scanner.next()!.row).toString()).toBe(reversed ? '+' : 'z');
        expect(scanner.next()).toBeUndefined();
        return 1_000_000 - scanner.maxSkipped;
      };
      skipped();
      expect(skipped()).toBeLessThan(20);
      await engine.close();
    },
  );

  test.each([false, true])('see a put to one of two families, reversed: %s', async (reversed) => {
    const { engine } = await memoryStore();
    const table = (await createTable(engine, { f: {}, g: {} })) as SyncTable;
    await table.putAll(names(100).map((name) => put(name, 'x').addColumn('g', 'q', 'x')));
    await table.batch(names(100).map((name) => new Delete(name)));
    expect(rowsOf(table)).toEqual([]);
    await table.put(put('050', 'x', 'g'));
    expect(rowsOf(table, new Scan().setReversed(reversed))).toEqual(['050']);
    await engine.close();
  });

  test('a queue skips a few rows for each task, however many were taken', async () => {
    const { engine, table } = await deletedRows();
    let most = 0;
    await table.putAll(Array.from({ length: 100 }, (_, n) => put(`a${1000 + n}`, 'x')));
    for (let n = 0; n < 500; n++) {
      const scanner = table.scanSync(new Scan().setLimit(1)) as TableScanner;
      scanner.maxSkipped = 1000;
      const task = scanner.next()!;
      expect(Buffer.from(task.row).toString()).toBe(`a${1000 + n}`);
      most = Math.max(most, 1000 - scanner.maxSkipped);
      await table.put(put(`a${1100 + n}`, 'x'));
      await table.delete(new Delete(task.row));
    }
    expect(most).toBeLessThan(20);
    await engine.close();
  });

  test('find what repositories write among them, in rows and indexes', async () => {
    const Task = defineEntity({
      name: 'Task',
      table: defineTable({ name: 'tasks', families: { d: {} } }),
      key: [part('n', uint32)],
      columns: (c) => ({ a: c.column('d:a', text), b: c.column('d:b', uint32) }),
      indexes: { byA: { on: [part('a')] } },
    });
    const folder = new MemoryFileSystem();
    const db = await open({ path: '/db', fileSystem: folder, entities: [Task], automatic: false });
    const tasks = db.repository(Task);
    const all = Array.from({ length: 200 }, (_, n) => ({ n, a: `a${n}`, b: n }));
    const odd = all.filter(({ n }) => n % 2 === 1);
    const empty = async (): Promise<void> => {
      await tasks.find({}, { fullScan: true }).deleteAll();
      expect(await tasks.find({}, { fullScan: true }).first()).toBeNull();
      expect(
        await tasks
          .by('byA')
          .find({ a: { startsWith: 'a' } })
          .first(),
      ).toBeNull();
    };
    const held = async (expected: readonly number[]): Promise<void> => {
      const rows = await tasks.find({}, { fullScan: true }).all();
      expect(rows.map(({ n }) => n)).toEqual(expected);
      const byIndex = await tasks
        .by('byA')
        .find({ a: { startsWith: 'a' } })
        .all();
      expect(byIndex.map(({ n }) => n).sort((x, y) => x - y)).toEqual(expected);
    };
    await tasks.putMany(all.filter(({ n }) => n % 2 === 0));
    await empty();
    await tasks.putMany(odd);
    await held(odd.map(({ n }) => n));
    await empty();
    await tasks.putMany(all.slice(10, 70));
    await held(all.slice(10, 70).map(({ n }) => n));
    await empty();
    await tasks.insert(all[40]!);
    await held([40]);
    await tasks.put(all[50]!);
    await db.batch((b) => b.of(Task).put(all[60]!));
    await held([40, 50, 60]);
    await db.close();
  });

  test('a longer time to live shows expired rows again', async () => {
    const store = await memoryStore();
    const table = (await createTable(store.engine, { f: { ttl: 10 } })) as SyncTable;
    await table.putAll(names(100).map((name) => put(name, 'x')));
    store.now += 11_000;
    expect(rowsOf(table)).toEqual([]);
    store.now -= 5000;
    expect(rowsOf(table)).toHaveLength(100);
    store.now += 5000;
    expect(rowsOf(table)).toEqual([]);
    await table.delete(new Delete('000'));
    expect(rowsOf(table)).toEqual([]);
    await store.engine.admin.modifyTable(tableDescriptor('t', { f: { ttl: 100 } }));
    expect(rowsOf(table)).toHaveLength(99);
    await store.engine.close();
  });

  test('a compaction that drops a marker shows an older put again (R44)', async () => {
    const { engine, table } = await deletedRows();
    for (let i = 0; i < 3; i++) {
      await engine.admin.flush('t');
      await table.delete(new Delete('z'));
    }
    await table.put(put('050', 'x', 'f', 'q', 5));
    expect(rowsOf(table)).toEqual([]);
    await engine.admin.compact('t');
    expect(rowsOf(table)).toEqual(['050']);
    await engine.close();
  });

  test('snapshots, own writes, past times and raw scans see what they saw', async () => {
    const store = await memoryStore();
    const { engine } = store;
    const table = (await createTable(engine, { f: { keepDeletedCells: 'TRUE' } })) as SyncTable;
    await table.putAll(names(100).map((name) => put(name, 'x')));
    await table.put(put('095', 'y'));
    await table.batch(names(30).map((name) => new Delete(name)));
    const before = table.scanSync(new Scan());
    await engine.transaction(async (transaction) => {
      const own = transaction.table('t');
      expect(own.getSync(new Get('099')).isEmpty).toBe(false);
      store.now += 1000;
      await table.batch(names(100).map((name) => new Delete(name)));
      expect(rowsOf(table)).toEqual([]);
      expect(rowsOf(own)).toHaveLength(70);
    });
    await engine.transaction(async (transaction) => {
      const own = transaction.table('t');
      expect(rowsOf(own)).toEqual([]);
      await own.put(put('050', 'x'));
      expect(rowsOf(own)).toEqual(['050']);
      await own.delete(new Delete('050'));
    });
    expect(rowsOf(table)).toEqual([]);
    expect([...before]).toHaveLength(70);
    expect(rowsOf(table, new Scan().setTimeRange(0, store.now))).toHaveLength(70);
    const raw = new Scan().setRaw(true).setFilter(parseFilter("ValueFilter(=, 'binary:y')"));
    expect(rowsOf(table, raw)).toEqual(['095']);
    await engine.close();
  });

  test('what a step finds in its own deletes is not known to others', async () => {
    const { engine, table } = await deletedRows();
    await table.putAll(names(100).map((name) => put(name, 'x')));
    const deleteAll = (fails: boolean): Promise<void> =>
      table.atomic!((all) => {
        for (const name of names(100)) all.apply({ table: 't', change: new Delete(name) });
        expect(all.scan(new Scan())).toEqual([]);
        if (fails) throw new Error('No.');
      });
    await expect(deleteAll(true)).rejects.toThrow('No.');
    expect(rowsOf(table)).toHaveLength(100);
    await deleteAll(false);
    expect(rowsOf(table)).toEqual([]);
    const scanner = table.scanSync(new Scan()) as TableScanner;
    scanner.maxSkipped = 1000;
    expect(scanner.next()).toBeUndefined();
    expect(scanner.maxSkipped).toBeGreaterThan(980);
    await engine.close();
  });

  test('random programs: they give what gets give', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const store = await memoryStore();
        await createTable(store.engine, { f: {}, g: {} });
        const program = new Program(store);
        for (const one of steps) await program.run(one);
        await program.end();
      }),
      { numRuns: scaled(60, 600, 5000) },
    );
  });
});
