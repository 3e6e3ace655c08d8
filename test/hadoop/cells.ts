import fc from 'fast-check';
import { compareCells } from '../../src/hadoop/hfile/writer.js';
import { Cell, CellType, CellWithTtl } from '../../src/table/index.js';

const TYPES = Object.values(CellType);

/** Cells of one family, as they stand in files: sorted, each place once. */
export function familyCells(family: string, maxLength = 60): fc.Arbitrary<Cell[]> {
  return fc
    .array(
      fc.record({
        row: fc.uint8Array({ minLength: 1, maxLength: 4 }),
        qualifier: fc.uint8Array({ maxLength: 3 }),
        timestamp: fc.oneof(
          fc.integer({ min: 0, max: 5 }),
          fc.maxSafeNat().map((n) => Math.min(n, 2 ** 53 - 2)),
        ),
        type: fc.constantFrom(CellType.Put, CellType.Put, ...TYPES),
        value: fc.uint8Array({ maxLength: 40 }),
        ttl: fc.option(fc.integer({ min: 1, max: 1e12 })),
      }),
      { maxLength },
    )
    .map((all) => {
      const cells = all.map(({ row, qualifier, timestamp, type, value, ttl }) => {
        const bytes = type === CellType.Put ? value : new Uint8Array();
        return ttl === null
          ? new Cell(row, family, qualifier, timestamp, type, bytes)
          : new CellWithTtl(row, family, qualifier, timestamp, type, bytes, ttl);
      });
      cells.sort(compareCells);
      return cells.filter((cell, at) => at === 0 || compareCells(cells[at - 1]!, cell) !== 0);
    });
}

/** A cell as text, to be compared. */
export function textOf(cell: Cell): string {
  const { row, family, qualifier, timestamp, type, value } = cell;
  const hex = [row, qualifier, value].map((bytes) => Buffer.from(bytes).toString('hex'));
  return [...hex, family, timestamp, type, cell instanceof CellWithTtl ? cell.ttl : '-'].join(' ');
}
