/** Steps of writes: each change sees those before it, and all are one write or none. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidArgumentError } from '../../../src/errors.js';
import {
  ALL_VERSIONS,
  Append,
  type AtomicStep,
  ColumnPuts,
  Delete,
  Get,
  Increment,
  Put,
  type RowMutation,
  RowMutations,
  Scan,
  type SyncTable,
} from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, memoryStore, put, type TestStore } from '../engine/support.js';

type AtomicTable = SyncTable & Required<Pick<SyncTable, 'atomic'>>;

async function opened(): Promise<{ store: TestStore; table: AtomicTable }> {
  const store = await memoryStore();
  const table = (await createTable(store.engine, { f: { versions: 1 }, g: { versions: 3 } })) as AtomicTable;
  return { store, table };
}

const QUALIFIER = Buffer.from('q');
const add = (row: string, family = 'f'): Increment => new Increment(row).addColumn(family, 'n', 1n);
const count = (table: SyncTable, row: string, family = 'f'): bigint =>
  Buffer.from(table.getSync(new Get(row)).getValue(family, 'n')!).readBigInt64BE();

/** Every version of every cell, without times. */
const versions = (table: SyncTable): unknown[] => cellsOf(table, new Scan().readVersions(ALL_VERSIONS));

function cellsOf(table: SyncTable, scan: Scan): unknown[] {
  return [...table.scanSync(scan)].flatMap((result) =>
    result.cells.map((cell) => [
      Buffer.from(cell.row).toString(),
      cell.family,
      Buffer.from(cell.qualifier).toString(),
      Buffer.from(cell.value).toString('hex'),
    ]),
  );
}

/** Puts of a value to one column of the rows. */
function columnPuts(rows: readonly string[], value: Uint8Array, family = 'g'): ColumnPuts {
  const puts = new ColumnPuts('t', family, QUALIFIER, 'USE_DEFAULT');
  const parts: Uint8Array[] = [QUALIFIER];
  let length = QUALIFIER.length;
  for (const row of rows) {
    parts.push(Buffer.from(row), value);
    puts.rowEnds.push(length + row.length);
    length += row.length + value.length;
    puts.valueEnds.push(length);
  }
  puts.bytes = Buffer.concat(parts);
  return puts;
}

describe('a step of writes', () => {
  test('shows each change to those behind it, and to nobody else before it is written', async () => {
    const { table } = await opened();
    const apply = (change: RowMutation | RowMutations) => ({ table: 't', change });
    const step = table.atomic((step) => {
      step.apply(apply(add('a')));
      step.apply(apply(add('a')));
      expect(step.read(new Get('a')).getValue('f', 'n')).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 2));
      step.apply(apply(new Delete('a')));
      expect(step.read(new Get('a')).isEmpty).toBe(true);
      step.apply(apply(add('a')));
      return step.apply(apply(add('a')));
    });
    expect(table.getSync(new Get('a')).isEmpty).toBe(true);
    expect((await step).getValue('f', 'n')?.at(-1)).toBe(2);
    expect(count(table, 'a')).toBe(2n);
  });

  test('leaves nothing behind when it throws, and what stood there stands', async () => {
    const { store, table } = await opened();
    await table.put(put('a', 'before'));
    await table.increment(add('a', 'g'));
    const before = versions(table);
    const seq = store.engine.stats();
    const failed = table.atomic((step) => {
      step.apply({ table: 't', change: put('a', 'after') });
      step.apply({ table: 't', change: add('a', 'g') });
      step.apply({ table: 't', change: new Delete('a') });
      step.apply({ table: 't', change: put('b', 'new') });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(versions(table)).toEqual(before);
    expect(store.engine.stats().openScanners).toBe(seq.openScanners);
    await table.increment(add('a', 'g'));
    expect(count(table, 'a', 'g')).toBe(2n);
    await store.reopen();
    expect(count(store.engine.table('t'), 'a', 'g')).toBe(2n);
    await store.engine.close();
  });

  test('refuses functions that wait, writes beside it, and use behind its end', async () => {
    const { table } = await opened();
    await expect(
      table.atomic(async (step) => step.apply({ table: 't', change: put('a', '1') })),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    let beside: Promise<void> | undefined;
    let kept: { read(get: Get): unknown } | undefined;
    await table.atomic((step) => {
      kept = step;
      step.apply({ table: 't', change: put('a', '2') });
      beside = table.put(put('b', '3'));
      beside.catch(() => undefined);
    });
    await expect(beside).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    expect(() => kept!.read(new Get('a'))).toThrow(/has ended/);
    expect(versions(table)).toHaveLength(1);
    await expect(
      table.atomic((step) => step.apply({ table: 'none', change: put('a', '1') })),
    ).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  });

  test('comes to what its changes come to when they are made one after the other', async () => {
    const row = fc.constantFrom('a', 'b');
    const family = fc.constantFrom('f', 'g');
    const qualifier = fc.constantFrom('n', 'm');
    const change: fc.Arbitrary<RowMutation> = fc.oneof(
      fc
        .tuple(row, family, qualifier, fc.nat(9), fc.option(fc.constantFrom(5, 1_600_000_000_000)))
        .map(([r, f, q, v, time]) => new Put(r).addColumn(f, q, Buffer.alloc(8, v), time ?? undefined)),
      fc.tuple(row, family, qualifier).map(([r, f, q]) => new Increment(r).addColumn(f, q, 3n)),
      fc.tuple(row, family).map(([r, f]) => new Append(r).addColumn(f, 't', 'x')),
      row.map((r) => new Delete(r)),
      fc.tuple(row, family).map(([r, f]) => new Delete(r).addFamily(f)),
      fc.tuple(row, family, qualifier).map(([r, f, q]) => new Delete(r).addColumns(f, q)),
      fc.tuple(row, family, qualifier).map(([r, f, q]) => new Delete(r).addColumn(f, q)),
    );
    const changes = fc.array(
      fc.oneof(
        change,
        fc
          .array(change, { minLength: 1, maxLength: 3 })
          .map((all) => new RowMutations('a').add(...all.filter((each) => isOf(each, 'a'))))
          .filter(({ mutations }) => mutations.length > 0),
      ),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(changes, changes, async (first, second) => {
        const one = await opened();
        const other = await opened();
        for (const all of [first, second]) {
          await one.table.atomic((step) => {
            for (const each of all) step.apply({ table: 't', change: each });
          });
          for (const each of all) await other.table.batch([each]);
          expect(versions(one.table)).toEqual(versions(other.table));
        }
        await one.store.reopen();
        expect(versions(one.store.engine.table('t'))).toEqual(versions(other.table));
        await one.store.engine.close();
        await other.store.engine.close();
      }),
      { numRuns: scaled(12, 150, 4000) },
    );
  });

  test('puts that wait for its end are seen by who looks, and taken back with the rest, as puts that do not wait', async () => {
    type Action = {
      readonly kind: 'later' | 'column' | 'apply' | 'delete' | 'read' | 'scan' | 'attempt' | 'fail';
      row: string;
    };
    const action: fc.Arbitrary<Action> = fc.record({
      kind: fc.constantFrom(
        ...([
          'later',
          'later',
          'later',
          'column',
          'apply',
          'delete',
          'read',
          'scan',
          'attempt',
          'fail',
        ] as const),
      ),
      row: fc.constantFrom('a', 'b', 'c', 'd'),
    });
    /**
     * The newest versions: of two puts of a column in one step both are kept only when their times differ, as they do when a
     * delete between them, taken back or not, made the clock of the row go on.
     */
    const newest = (table: SyncTable): unknown[] => cellsOf(table, new Scan());
    /** What was seen. Between an attempt and its end, failed or not, stand up to four actions. */
    const run = (step: AtomicStep, actions: readonly Action[], waits: boolean): unknown[] => {
      const seen: unknown[] = [];
      for (let at = 0; at < actions.length; at++) {
        const { kind, row } = actions[at]!;
        const value = Buffer.from(String(at));
        if (kind === 'later' && waits) {
          const later = { table: 't', row: Buffer.from(row), family: 'g', qualifier: QUALIFIER, value };
          step.putLater!({ ...later, durability: at % 3 === 0 ? 'SYNC_WAL' : 'USE_DEFAULT' });
        } else if (kind === 'column' && waits) {
          expect(step.putColumn!(columnPuts([row, 'e'], value))).toBe(true);
        } else if (kind === 'later' || kind === 'apply' || kind === 'column') {
          for (const each of kind === 'column' ? [row, 'e'] : [row])
            step.apply({ table: 't', change: new Put(each).addColumn('g', QUALIFIER, value) });
        } else if (kind === 'delete') step.apply({ table: 't', change: new Delete(row) });
        else if (kind === 'read') seen.push(step.read(new Get(row)).getValue('g', 'q'));
        else if (kind === 'scan') seen.push(step.scan(new Scan()).map((each) => each.getValue('g', 'q')));
        else {
          const part = actions.slice(at + 1, at + 5);
          at += part.length;
          try {
            step.attempt(() => {
              seen.push(...run(step, part, waits));
              if (kind === 'fail') throw new Error('taken back');
            });
          } catch (error) {
            expect(error).toEqual(new Error('taken back'));
          }
        }
      }
      return seen;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 24 }), fc.boolean(), async (actions, throws) => {
        const one = await opened();
        const other = await opened();
        await one.table.put(put('b', 'before', 'g'));
        await other.table.put(put('b', 'before', 'g'));
        const seen: unknown[] = [];
        for (const { table } of [one, other]) {
          const done = table.atomic((step) => {
            seen.push(run(step, actions, table === one.table));
            if (throws) throw new Error('all of it');
          });
          if (throws) await expect(done).rejects.toThrow('all of it');
          else await done;
        }
        expect(seen[0]).toEqual(seen[1]);
        expect(newest(one.table)).toEqual(newest(other.table));
        await one.store.reopen();
        expect(newest(one.store.engine.table('t'))).toEqual(newest(other.table));
        await one.store.engine.close();
        await other.store.engine.close();
      }),
      { numRuns: scaled(12, 300, 4000) },
    );
  });

  test('refuses a put that waits where it would refuse it at once, and goes on', async () => {
    const { table } = await opened();
    const later = { table: 't', row: Buffer.from('a'), qualifier: QUALIFIER, value: QUALIFIER } as const;
    await table.atomic((step) => {
      step.putLater!({ ...later, family: 'f', durability: 'USE_DEFAULT' });
      const unknown = { ...later, family: 'none', durability: 'USE_DEFAULT' } as const;
      expect(() => step.putLater!(unknown)).toThrow('no family "none"');
      const tooLarge = {
        ...later,
        family: 'f',
        value: new Uint8Array(11 << 20),
        durability: 'USE_DEFAULT',
      } as const;
      expect(() => step.putLater!(tooLarge)).toThrow('the limit is');
    });
    expect(versions(table)).toEqual([['a', 'f', 'q', '71']]);
  });

  test('puts of a column that the table does not take, or that have observers, are not applied', async () => {
    const { store, table } = await opened();
    await table.atomic((step) => {
      expect(step.putColumn!(columnPuts(['a'], QUALIFIER, 'none'))).toBe(false);
      expect(step.putColumn!(columnPuts(['a', 'b'], new Uint8Array(11 << 20)))).toBe(false);
      const unobserve = store.engine.observe('t', { before: () => undefined });
      expect(step.putColumn!(columnPuts(['a'], QUALIFIER))).toBe(false);
      unobserve();
      expect(step.putColumn!(columnPuts(['b', 'a'], QUALIFIER))).toBe(true);
    });
    expect(versions(table)).toEqual([
      ['a', 'g', 'q', '71'],
      ['b', 'g', 'q', '71'],
    ]);
  });

  test('what is written behind a step that was taken back survives a flush and a reopening', async () => {
    const { store, table } = await opened();
    await table.put(put('kept', '1'));
    const refused = (step: AtomicStep): void => {
      for (const row of ['x', 'y', 'z']) step.apply({ table: 't', change: put(row, '2') });
      throw new InvalidArgumentError('refused');
    };
    await expect(table.atomic(refused)).rejects.toThrow('refused');
    await table.atomic((step) => {
      step.apply({ table: 't', change: put('before', '3') });
      expect(() => step.attempt(() => refused(step))).toThrow('refused');
      step.apply({ table: 't', change: put('behind', '4') });
    });
    await expect(table.atomic(refused)).rejects.toThrow('refused');
    await store.engine.admin.flush('t');
    await table.put(put('later', '5'));
    await store.reopen();
    const rows = (await contents(store.engine.table('t'))).map((cell) => cell.split(' ')[0]);
    expect(rows).toEqual(['before', 'behind', 'kept', 'later']);
    await store.engine.close();
  });
});

function isOf(mutation: RowMutation, row: string): boolean {
  return Buffer.from(mutation.row).toString() === row;
}
