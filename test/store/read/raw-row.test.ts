import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  Delete,
  filters,
  Get,
  Increment,
  Put,
  RawRow,
  type Result,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

const rows = ['a', 'ab', 'b', 'c'];
const qualifiers = ['', '_', 'k', 'kk'];
const families = ['d', 'e', 't', 'v'];

type Step =
  | {
      readonly kind: 'put' | 'deleteColumn' | 'deleteVersion' | 'increment';
      readonly cell: readonly [number, number, number];
      readonly time: number;
      readonly ttl: boolean;
    }
  | {
      readonly kind: 'deleteRow' | 'deleteFamily';
      readonly cell: readonly [number, number, number];
      readonly time: number;
      readonly ttl: boolean;
    }
  | { readonly kind: 'flush' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'put',
        'put',
        'put',
        'put',
        'deleteColumn',
        'deleteVersion',
        'increment',
        'deleteRow',
        'deleteFamily',
      ),
      cell: fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 }), fc.nat({ max: 3 })),
      time: fc.integer({ min: 1, max: 9 }),
      ttl: fc.boolean(),
    }) as fc.Arbitrary<Step>,
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'flush' } as const) },
);

/** What a raw row can say of a result. */
function told(result: Result): unknown {
  return result.cells.map((cell) => [
    Buffer.from(cell.row).toString(),
    cell.family,
    Buffer.from(cell.qualifier).toString(),
    cell.timestamp,
    Buffer.from(cell.value).toString('hex'),
  ]);
}

test('raw rows hold what results hold, whatever was put, deleted, expired and flushed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-raw-'));
  const engine = await openEmbedded(folder, {
    clock: () => 1_000_000,
    background: 'inline',
    durability: 'SKIP_WAL',
    automatic: false,
  });
  let number = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const name = `t${number++}`;
        await engine.admin.createTable(
          tableDescriptor(name, {
            d: {},
            e: { versions: 3, keepDeletedCells: 'TRUE' },
            t: { ttl: 500 },
            v: { bloomFilter: 'ROWCOL' },
          }),
        );
        const table = engine.table(name);
        for (const one of steps) {
          if (one.kind === 'flush') {
            await engine.admin.flush(name);
            continue;
          }
          const row = rows[one.cell[0]]!;
          const family = families[one.cell[1]]!;
          const qualifier = qualifiers[one.cell[2]]!;
          // Around the time at which the family `t` and cells with a time to live of their own have expired.
          const time = 499_000 + one.time * 200;
          if (one.kind === 'put') {
            const put = new Put(row).addColumn(family, qualifier, `${one.time}`, time);
            await table.put(one.ttl ? put.setTtl(500_000) : put);
          } else if (one.kind === 'increment') {
            await table.increment(new Increment(row).addColumn('e', 'n', 1n));
          } else if (one.kind === 'deleteRow') await table.delete(new Delete(row, time));
          else if (one.kind === 'deleteFamily') await table.delete(new Delete(row).addFamily(family, time));
          else if (one.kind === 'deleteColumn')
            await table.delete(new Delete(row).addColumns(family, qualifier, time));
          else await table.delete(new Delete(row).addColumn(family, qualifier, time));
        }
        const raw = new RawRow();
        const gets = (row: string): Get[] => [
          new Get(row),
          new Get(row).addFamily('d').addFamily('v'),
          new Get(row).addColumn('d', 'k'),
          new Get(row).readVersions(2),
          new Get(row).setTimeRange(0, 500_000),
          new Get(row).setFilter(filters.qualifier('EQUAL', 'k')),
        ];
        for (const row of rows) {
          for (const get of gets(row)) {
            const expected = table.getSync(get);
            expect(table.getRaw!(get, raw)).toBe(!expected.isEmpty);
            if (!expected.isEmpty) expect(told(raw.toResult())).toEqual(told(expected));
          }
        }
        const scans = (): Scan[] => [
          new Scan(),
          new Scan().setReversed(true),
          new Scan().addFamily('e').readVersions(3),
          new Scan().withStartRow('ab').setLimit(2),
          new Scan().setFilter(filters.singleColumnValue('d', 'k', 'GREATER', '3')),
          new Scan().setFilter(filters.keyOnly(true)),
        ];
        for (const [index] of scans().entries()) {
          const results = table.scanSync(scans()[index]!);
          const raws = table.scanSync(scans()[index]!);
          for (let result = results.next(); result !== undefined; result = results.next()) {
            expect(raws.nextRaw!(raw)).toBe(true);
            expect(told(raw.toResult())).toEqual(told(result));
          }
          expect(raws.nextRaw!(raw)).toBe(false);
        }
      }),
      { numRuns: scaled(20, 150, 1500) },
    );
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
});
