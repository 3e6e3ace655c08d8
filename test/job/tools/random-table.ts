/** A table with cells of every kind, for the tools that carry all of them. */

import fc from 'fast-check';
import { CellWithTtl, Delete, type Engine, Put, Scan, tableDescriptor } from '../../../src/table/index.js';

/** A change of a cell, of every kind there is. */
export const changes = fc.record({
  row: fc.integer({ min: 0, max: 30 }),
  family: fc.constantFrom('a', 'b'),
  column: fc.constantFrom('', 'x', 'y\0z'),
  timestamp: fc.integer({ min: 1, max: 12 }),
  kind: fc.constantFrom('put', 'put', 'ending', 'version', 'column', 'family', 'familyVersion'),
  value: fc.uint8Array({ maxLength: 6 }),
});
export type CellChange = typeof changes extends fc.Arbitrary<infer T> ? T : never;

/** A life of single cells that outlasts every test, though it begins in 1970. */
const LIFE_MS = 300 * 365 * 86_400_000;

/** Makes the table "t" of regions that begin at these rows, and makes the changes. */
export async function fill(
  engine: Engine,
  all: readonly CellChange[],
  splits: readonly number[] = [10, 20],
): Promise<void> {
  await engine.admin.createTable(
    tableDescriptor('t', { a: { versions: 5, keepDeletedCells: 'TRUE' }, b: { versions: 3 } }),
    splits.map((at) => Buffer.from(rowName(at))),
  );
  const table = engine.table('t');
  for (const { row: number, family, column, timestamp, kind, value } of all) {
    const row = rowName(number);
    if (kind === 'put') await table.put(new Put(row).addColumn(family, column, value, timestamp));
    else if (kind === 'ending') {
      await table.put(
        new Put(row).addColumn(family, column, value, timestamp).setTtl(LIFE_MS + value.length),
      );
    } else if (kind === 'version') await table.delete(new Delete(row).addColumn(family, column, timestamp));
    else if (kind === 'column') await table.delete(new Delete(row).addColumns(family, column, timestamp));
    else if (kind === 'family') await table.delete(new Delete(row).addFamily(family, timestamp));
    else await table.delete(new Delete(row).addFamilyVersion(family, timestamp));
  }
}

export function rowName(number: number): string {
  return `row${String(number).padStart(3, '0')}`;
}

/** Every stored cell as text. */
export async function cellsOf(engine: Engine, table = 't', raw = true): Promise<string[]> {
  const found: string[] = [];
  for await (const { row, cells } of engine.table(table).scan(new Scan().setRaw(raw).readAllVersions())) {
    for (const cell of cells) {
      const { family, qualifier, timestamp, type, value } = cell;
      const life = cell instanceof CellWithTtl ? cell.ttl : 0;
      found.push(
        [row, family, qualifier, timestamp, type, value, life]
          .map((part) => (part instanceof Uint8Array ? Buffer.from(part).toString('hex') : String(part)))
          .join(' '),
      );
    }
  }
  return found;
}
