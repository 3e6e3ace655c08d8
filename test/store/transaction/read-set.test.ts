/** The rows that a transaction has read, few and many, in several tables. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TableState } from '../../../src/store/table-state.js';
import { ReadSet } from '../../../src/store/transaction/read-set.js';
import { Get } from '../../../src/table/index.js';

const tables = [1, 2].map((id) => ({ id }) as unknown as TableState);
const ROWS = 24;

test('covers exactly the rows that were read, of their tables', () => {
  const read = fc.record({ table: fc.constantFrom(0, 1), row: fc.nat(ROWS - 1) });
  fc.assert(
    fc.property(fc.array(read, { maxLength: 2 * ROWS, size: 'max' }), (reads) => {
      const set = new ReadSet();
      for (const { table, row } of reads) set.addGet(tables[table]!, new Get(`row ${row}`));
      const known = new Set(reads.map(({ table, row }) => `${table} ${row}`));
      const covered = tables.flatMap((state, table) =>
        Array.from({ length: ROWS }, (_, row) => `${table} ${row}`).filter((_, row) =>
          set.covers(state, Buffer.from(`row ${row}`)),
        ),
      );
      expect(new Set(covered)).toEqual(known);
    }),
  );
});
