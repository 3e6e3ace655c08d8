/** What a transaction sees and leaves, held against the same changes made one by one in a store of their own. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ALL_VERSIONS,
  Append,
  CellType,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  type Result,
  type RowMutation,
  RowMutations,
  Scan,
  type SyncTable,
} from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { createTable, memoryStore, put } from '../engine/support.js';

const row = fc.constantFrom('a', 'b', 'c', 'd');
const family = fc.constantFrom('f', 'g', 'h');
const qualifier = fc.constantFrom('n', 'm');
const mutation: fc.Arbitrary<RowMutation> = fc.oneof(
  fc
    .tuple(row, family, qualifier, fc.nat(9), fc.option(fc.constantFrom(5, 1_600_000_000_000)), fc.boolean())
    .map(([r, f, q, v, time, ttl]) =>
      new Put(r)
        .addColumn(f, q, Buffer.alloc(8, v), time ?? undefined)
        .setTtl(ttl ? 1_000_000_000_000 : undefined),
    ),
  fc.tuple(row, family, qualifier).map(([r, f, q]) => new Increment(r).addColumn(f, q, 3n)),
  fc.tuple(row, family).map(([r, f]) => new Append(r).addColumn(f, 't', 'x')),
  row.map((r) => new Delete(r)),
  fc.tuple(row, family).map(([r, f]) => new Delete(r).addFamily(f)),
  fc.tuple(row, family, qualifier).map(([r, f, q]) => new Delete(r).addColumns(f, q)),
  fc.tuple(row, family, qualifier).map(([r, f, q]) => new Delete(r).addColumn(f, q)),
);
type Action =
  | { readonly kind: 'change'; readonly change: RowMutation }
  | { readonly kind: 'rows'; readonly change: RowMutations }
  | { readonly kind: 'check'; readonly check: CheckAndMutate }
  | { readonly kind: 'atomic'; readonly changes: readonly RowMutation[] };
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: mutation.map((change): Action => ({ kind: 'change', change })) },
  fc
    .array(mutation, { minLength: 1, maxLength: 3 })
    .map((all) => all.filter((each) => Buffer.compare(each.row, all[0]!.row) === 0))
    .map((all): Action => ({ kind: 'rows', change: new RowMutations(all[0]!.row).add(...all) })),
  mutation.map(
    (change): Action => ({
      kind: 'check',
      check: CheckAndMutate.ifNotExists('f', Buffer.from('n'), change),
    }),
  ),
  fc.array(mutation, { minLength: 1, maxLength: 3 }).map((changes): Action => ({ kind: 'atomic', changes })),
);

async function perform(table: SyncTable, action: Action): Promise<unknown> {
  switch (action.kind) {
    case 'change':
    case 'rows':
      return (await table.batch([action.change])).map((outcome) =>
        outcome.ok ? cells(outcome.result) : 'refused',
      );
    case 'check':
      return (await table.checkAndMutate(action.check)).success;
    case 'atomic':
      return table.atomic!((step) => {
        for (const change of action.changes) step.apply({ table: 't', change });
      }).then(() => 'done');
  }
}

const plainly = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
const cells = (result: Result): unknown[] =>
  result.cells.map((cell) => [
    Buffer.from(cell.row).toString(),
    cell.family,
    Buffer.from(cell.qualifier).toString(),
    Buffer.from(cell.value).toString('hex'),
  ]);

/** Everything that can be seen, in every way of looking. */
function seen(table: SyncTable): unknown {
  const scans = [
    new Scan().withStopRow('e'),
    new Scan().withStopRow('e').readVersions(ALL_VERSIONS),
    new Scan().withStartRow('d').setReversed(true),
    new Scan().withStartRow('b').withStopRow('d'),
    new Scan().withStopRow('e').setLimit(2).addFamily('g'),
  ];
  return [
    scans.map((scan) => [...table.scanSync(scan)].map(cells)),
    ['a', 'b', 'c', 'd'].map((name) => [
      cells(table.getSync(new Get(name))),
      cells(table.getSync(new Get(name).addColumn('f', 'n'))),
      cells(table.getSync(new Get(name).addFamily('h').readVersions(2))),
    ]),
  ];
}

test('a transaction sees and leaves what its changes come to one after the other', async () => {
  const families = { f: { versions: 1 }, g: { versions: 3 }, h: { versions: 2, newVersionBehavior: true } };
  const noise = fc.constantFrom('none', 'put', 'flush', 'compact', 'split');
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 8 }),
      fc.array(fc.tuple(action, noise), { maxLength: 10 }),
      async (before, inside) => {
        // What a delete hides by its time alone comes back when a major compaction drops the delete, as in HBase.
        const text = JSON.stringify([before, inside], plainly);
        const timed = /"timestamp":(5|1600000000000)[,}]/.test(text);
        // A delete of one version uncovers an older one, unless a flush has left that out already, as in HBase.
        const uncovers = timed && text.includes(`"type":${CellType.Delete},`);
        const one = await memoryStore();
        const other = await memoryStore();
        const table = (await createTable(one.engine, families)) as SyncTable;
        const plain = (await createTable(other.engine, families)) as SyncTable;
        for (const each of before) {
          await perform(table, each);
          await perform(plain, each);
        }
        // A transaction's time is later than all that was given to any row, a write's than what was given to its own.
        one.now += 1000;
        other.now += 1000;
        // Others write where nothing is looked at: behind the last row that it reads to.
        await one.engine.transaction(
          async (tx) => {
            const own = tx.table('t');
            for (const [each, beside] of inside) {
              expect(await perform(own, each)).toEqual(await perform(plain, each));
              if (beside === 'put') await table.put(put('z', 'x'));
              if (beside === 'flush' && !uncovers) await one.engine.admin.flush('t');
              if (beside === 'compact' && !timed) await one.engine.admin.majorCompact('t');
              if (beside === 'split' && !uncovers && (await one.engine.admin.getRegions('t')).length === 1)
                await one.engine.admin.split('t', Buffer.from('c'));
              expect(seen(own)).toEqual(seen(plain));
            }
          },
          { attempts: 1 },
        );
        expect(seen(table)).toEqual(seen(plain));
        await one.reopen();
        expect(seen(one.engine.table('t'))).toEqual(seen(plain));
        expect(one.engine.stats().openScanners).toBe(0);
        await one.engine.close();
        await other.engine.close();
      },
    ),
    { numRuns: scaled(4, 120, 4000) },
  );
});

test('in a family that goes by the order of writes, what a transaction deleted takes no place of what it writes later', async () => {
  const { engine } = await memoryStore();
  const families = { h: { versions: 2, newVersionBehavior: true } };
  const table = (await createTable(engine, families)) as SyncTable;
  await table.put(new Put('a').addColumn('h', 'n', 'before', 10));
  const look = (of: SyncTable): unknown[] => cells(of.getSync(new Get('a')));
  await engine.transaction(async (tx) => {
    const own = tx.table('t');
    await own.put(new Put('a').addColumn('h', 'n', 'deleted', 20));
    await own.delete(new Delete('a').addColumns('h', 'n'));
    await own.put(new Put('a').addColumn('h', 'n', 'old', 5));
    expect(look(own)).toEqual([['a', 'h', 'n', Buffer.from('old').toString('hex')]]);
  });
  expect(look(table)).toEqual([['a', 'h', 'n', Buffer.from('old').toString('hex')]]);
  await engine.close();
});
