/** The rule of the fast paths of reads (`NewestPut`) against the matchers, which decide every other read. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  COLUMN_UNDECIDED,
  FAMILY_MARKED,
  isPlainFamily,
  NewestPut,
  ROW_UNDECIDED,
  SHOWN,
} from '../../../src/store/scan/newest-put.js';
import { filterFamily } from '../../../src/store/scan/region-scanner.js';
import { StoredRowBuilder } from '../../../src/store/scan/row-builder.js';
import { familyQuery, oldestUnexpired, readMatcher } from '../../../src/store/scan/store-read.js';
import { StoreScanner } from '../../../src/store/scan/store-scanner.js';
import { CellType, type FamilyDescriptor, familyDescriptor, Get } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { ArrayCursor, type RunCell } from './array-cursor.js';

const ROW = 'row';
const NOW = 20_000;
const READ_POINT = 25;
const QUALIFIERS = ['', 'a', 'ab', 'b'];

/** Some cells have expired at `NOW` where the family's cells live for 15 seconds, and some by a time to live of their own. */
const someCell: fc.Arbitrary<RunCell> = fc
  .record({
    qualifier: fc.constantFrom(...QUALIFIERS),
    timestamp: fc.integer({ min: 2, max: 8 }).map((time) => time * 1000),
    type: fc.oneof(
      { weight: 6, arbitrary: fc.constant(CellType.Put) },
      { weight: 4, arbitrary: fc.constantFrom(CellType.DeleteColumn, CellType.DeleteFamily) },
      { weight: 1, arbitrary: fc.constantFrom(CellType.Delete, CellType.DeleteFamilyVersion) },
    ),
    seq: fc.integer({ min: 1, max: 30 }),
    ttl: fc.oneof({ weight: 15, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(14_000) }),
  })
  .map((cell) => ({
    row: ROW,
    ...cell,
    qualifier: isOfFamily(cell.type) ? '' : cell.qualifier,
    value: `${cell.timestamp}, ${cell.seq}`,
  }));

function isOfFamily(type: number): boolean {
  return type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion;
}

const families = (['FALSE', 'TTL', 'TRUE'] as const).flatMap((keepDeletedCells) =>
  [1, 3].flatMap((versions) =>
    [{}, { ttl: 15 }].map((life) => familyDescriptor('f', { versions, keepDeletedCells, ...life })),
  ),
);

type Column = readonly [qualifier: string, value: string];

/** What the rule says: the first cell of each column that can be seen decides it. Undefined: it takes a matcher. */
function byRule(
  family: FamilyDescriptor,
  cells: readonly RunCell[],
  wanted: readonly string[] | null,
): Column[] | undefined {
  const rule = new NewestPut();
  rule.readPoint = READ_POINT;
  rule.begin(oldestUnexpired(family, NOW));
  const seen: Column[] = [];
  const decided = new Set<string>();
  const cursor = new ArrayCursor(cells);
  for (let has = cursor.seekToFirst(); has; has = cursor.next()) {
    if (!rule.sees(cursor)) continue;
    const verdict = rule.judge(cursor);
    if (verdict === ROW_UNDECIDED) return undefined;
    const { key, qualifierOffset, qualifierLength, value, valueOffset, valueLength } = cursor;
    const qualifier = textOf(key, qualifierOffset, qualifierLength);
    if (verdict === FAMILY_MARKED || decided.has(qualifier)) continue;
    if (wanted !== null && !wanted.includes(qualifier)) continue;
    if (verdict === COLUMN_UNDECIDED) return undefined;
    decided.add(qualifier);
    if (verdict === SHOWN) seen.push([qualifier, textOf(value, valueOffset, valueLength)]);
  }
  return seen;
}

function byMatcher(
  family: FamilyDescriptor,
  cells: readonly RunCell[],
  wanted: readonly string[] | null,
): Column[] {
  const get = new Get(ROW);
  for (const qualifier of wanted ?? []) get.addColumn('f', qualifier);
  const query = familyQuery(family, filterFamily('f'), get, false, NOW, undefined, false);
  const scanner = new StoreScanner([new ArrayCursor(cells)], readMatcher(query), {
    ...query,
    readPoint: READ_POINT,
    withTtl: false,
    rowOffset: 0,
    rowLimit: Number.MAX_SAFE_INTEGER,
  });
  const row = Buffer.from(ROW);
  const out = new StoredRowBuilder();
  scanner.seek(row);
  scanner.startRow();
  scanner.readRow(row, out, Number.MAX_SAFE_INTEGER);
  return out
    .take(row, false)
    .cells.map(({ qualifier, value }) => [Buffer.from(qualifier).toString(), Buffer.from(value).toString()]);
}

function textOf(bytes: Uint8Array, offset: number, length: number): string {
  return Buffer.from(bytes.subarray(offset, offset + length)).toString();
}

test('the newest puts by the rule are those that matchers give, whatever hides some', () => {
  let decided = 0;
  fc.assert(
    fc.property(
      fc.array(someCell, { maxLength: 14, size: 'max' }),
      fc.constantFrom(...families),
      fc.option(fc.subarray(QUALIFIERS, { minLength: 1 })),
      (cells, family, wanted) => {
        expect(isPlainFamily(family, 1)).toBe(true);
        const seen = byRule(family, cells, wanted);
        if (seen === undefined) return;
        decided++;
        expect(seen).toEqual(byMatcher(family, cells, wanted));
      },
    ),
    { numRuns: scaled(200, 20_000, 500_000) },
  );
  expect(decided).toBeGreaterThan(100);
});
