import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Drops } from '../../../src/store/background/drop-watch.js';
import { type CompactionOptions, CompactionScanner } from '../../../src/store/background/job-run.js';
import { type FamilyOptions, familyDescriptor } from '../../../src/table/index.js';
import { ArrayCursor, cellOf, type RunCell } from './array-cursor.js';
import { cellsArbitrary, deal } from './runs.js';

const P = 4;
const D = 8;
const DC = 12;
const DF = 14;

const cell = (qualifier: string, timestamp: number, type: number, seq: number): RunCell => ({
  row: 'r',
  qualifier,
  timestamp,
  type,
  seq,
});

function scannerOf(
  cells: readonly RunCell[],
  family: FamilyOptions,
  options: Partial<CompactionOptions>,
  runs = 1,
  kept: string[] = [],
): CompactionScanner {
  const cursors = deal(cells, runs, [0, 1, 2, 3]).map((run) => {
    const cursor = new ArrayCursor(run);
    cursor.seekToFirst();
    return cursor;
  });
  const sink = {
    append(cursor: ArrayCursor): void {
      const { row, qualifier, timestamp, type } = cellOf(cursor);
      kept.push(`${row}/${qualifier} ${timestamp} ${type}`);
    },
  };
  return new CompactionScanner(cursors, sink as never, {
    kind: 'minor',
    family: familyDescriptor('f', family),
    smallestReadPoint: 1000,
    now: 1_000_000,
    earliestPutTimestamp: 0,
    timeToPurgeDeletes: 0,
    ...options,
  });
}

/** What is kept, as "qualifier timestamp type". */
function compact(
  cells: readonly RunCell[],
  family: FamilyOptions,
  options: Partial<CompactionOptions> = {},
  runs = 1,
  pace = 1000,
): string[] {
  const out: string[] = [];
  const scanner = scannerOf(cells, family, options, runs, out);
  while (scanner.step(pace)) {
    // The work goes on where it stopped.
  }
  return out;
}

describe('what compactions keep', () => {
  test('does not depend on how the cells are dealt out, nor on where the work pauses', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        fc.constantFrom('flush' as const, 'minor' as const, 'major' as const),
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 7 }),
        (cells, kind, newVersionBehavior, runs, pace) => {
          const family = { versions: 2, newVersionBehavior };
          const whole = compact(cells, family, { kind });
          expect(compact(cells, family, { kind }, runs, pace)).toEqual(whole);
        },
      ),
    );
  });

  test('a merge of some files keeps markers and drops what they hide; of all files it drops both', () => {
    const cells = [cell('q', 3, P, 4), cell('q', 2, DC, 3), cell('q', 1, P, 1), cell('', 0, DF, 2)];
    expect(compact(cells, { versions: 3 })).toEqual(['r/ 0 14', 'r/q 3 4', 'r/q 2 12']);
    expect(compact(cells, { versions: 3 }, { kind: 'major' })).toEqual(['r/q 3 4']);
  });

  test('R60: what an open read has not seen is kept, hides nothing and counts for nothing', () => {
    const cells = [cell('q', 5, P, 20), cell('q', 4, DC, 21), cell('q', 3, P, 1), cell('q', 2, P, 2)];
    expect(compact(cells, { versions: 1 }, { kind: 'major', smallestReadPoint: 10 })).toEqual([
      'r/q 5 4',
      'r/q 4 12',
      'r/q 3 4',
    ]);
    expect(compact(cells, { versions: 1 }, { kind: 'major', smallestReadPoint: 30 })).toEqual(['r/q 5 4']);
  });

  test('R61: markers outlive their timestamp for the time to purge', () => {
    const cells = [cell('q', 999_000, DC, 1), cell('x', 990_000, DC, 2)];
    const options = { kind: 'major' as const, timeToPurgeDeletes: 1000 };
    expect(compact(cells, {}, options)).toEqual(['r/q 999000 12']);
    // One that lies ahead stays until its time has come.
    expect(compact([cell('q', 2_000_000, DC, 1)], {}, options)).toEqual(['r/q 2000000 12']);
    expect(compact([cell('q', 2_000_000, DC, 1)], {}, { kind: 'major' })).toEqual([]);
  });

  test('R42, R44: with KEEP_DELETED_CELLS markers go when they are older than every put, or with excess versions', () => {
    const family = { versions: 1, keepDeletedCells: 'TRUE' } as const;
    const cells = [cell('q', 4, DC, 3), cell('q', 3, P, 1), cell('q', 2, DC, 4), cell('q', 1, P, 2)];
    expect(compact(cells, family, { kind: 'major', earliestPutTimestamp: 1 })).toEqual([
      'r/q 4 12',
      'r/q 3 4',
      'r/q 2 12',
    ]);
    expect(compact(cells, family, { kind: 'major', earliestPutTimestamp: 3 })).toEqual([
      'r/q 4 12',
      'r/q 3 4',
    ]);
    expect(compact(cells, family, { kind: 'major', earliestPutTimestamp: 5 })).toEqual([]);
  });

  test('R43: with TTL the expired markers hide, which matters where MIN_VERSIONS keeps the puts', () => {
    const family = { versions: 5, minVersions: 2, ttl: 10, keepDeletedCells: 'TTL' } as const;
    const cells = [cell('q', 3, DC, 3), cell('q', 2, P, 1), cell('x', 2, P, 2)];
    expect(compact(cells, family)).toEqual(['r/q 3 12', 'r/x 2 4']);
    expect(compact(cells, { ...family, keepDeletedCells: 'TRUE' })).toEqual([
      'r/q 3 12',
      'r/q 2 4',
      'r/x 2 4',
    ]);
  });

  test('expired cells go, and with MIN_VERSIONS the newest stay', () => {
    const cells = [1, 2, 3].map((timestamp) => cell('q', timestamp, P, timestamp));
    expect(compact(cells, { versions: 5, ttl: 10 })).toEqual([]);
    expect(compact(cells, { versions: 5, ttl: 10, minVersions: 2 })).toEqual(['r/q 3 4', 'r/q 2 4']);
    expect(compact([{ ...cell('q', 999_000, P, 1), ttl: 999 }], {})).toEqual([]);
    expect(compact([{ ...cell('q', 999_000, P, 1), ttl: 1000 }], {})).toEqual(['r/q 999000 4']);
  });

  test('every cell of the empty qualifier is looked at, for family markers may follow', () => {
    const cells = [cell('', 9, P, 1), cell('', 8, P, 2), cell('', 5, DF, 3), cell('q', 4, P, 4)];
    expect(compact(cells, { versions: 1 })).toEqual(['r/ 9 4', 'r/ 5 14']);
  });

  test('R80: where versions count as written, what keeps older ones away stays with its markers', () => {
    const family = { versions: 1, newVersionBehavior: true };
    const newer = [cell('q', 2, P, 2), cell('q', 2, D, 3)];
    // The older put may lie in another file: it must not come back when these two are compacted without it.
    expect(compact(newer, family)).toEqual(['r/q 2 8', 'r/q 2 4']);
    expect(compact([...newer, cell('q', 1, P, 1)], family, { kind: 'major' })).toEqual([]);
    expect(compact([cell('q', 2, P, 2), cell('q', 1, P, 1)], family)).toEqual(['r/q 2 4']);
  });
});

describe('what is dropped, for copies of before', () => {
  const expiring = (timestamp: number, ttl: number): RunCell => ({
    ...cell('q', timestamp, P, timestamp - 999_900),
    ttl,
  });
  const cases: readonly [string, readonly RunCell[], Partial<CompactionOptions>, Drops][] = [
    [
      'nothing',
      [cell('q', 5, P, 5)],
      {},
      { isLoss: false, markers: undefined, hasPuts: false, versionDeletes: 0 },
    ],
    [
      'a version',
      [cell('q', 6, P, 6), cell('q', 5, P, 5)],
      {},
      { isLoss: false, markers: undefined, hasPuts: true, versionDeletes: 0 },
    ],
    [
      'a version that outlives the newer one',
      [expiring(999_999, 50), cell('q', 5, P, 5)],
      {},
      { isLoss: true, markers: undefined, hasPuts: true, versionDeletes: 0 },
    ],
    [
      'a version that expires before the newer one',
      [expiring(999_999, 50), expiring(999_980, 50)],
      {},
      { isLoss: false, markers: undefined, hasPuts: true, versionDeletes: 0 },
    ],
    [
      'no marker',
      [cell('q', 6, DC, 6), cell('q', 5, P, 5)],
      {},
      { isLoss: false, markers: undefined, hasPuts: true, versionDeletes: 0 },
    ],
    [
      'markers',
      [cell('q', 6, DC, 6), cell('x', 8, DC, 2)],
      { kind: 'major' },
      { isLoss: false, markers: { commit: 6, until: 8 }, hasPuts: false, versionDeletes: 0 },
    ],
    [
      'a marker of a version',
      [cell('q', 6, D, 7)],
      { kind: 'major' },
      { isLoss: false, markers: { commit: 7, until: 6 }, hasPuts: false, versionDeletes: 7 },
    ],
    [
      'a marker that expires',
      [{ ...cell('q', 999_999, DC, 6), ttl: 50 }],
      { kind: 'major' },
      { isLoss: true, markers: undefined, hasPuts: false, versionDeletes: 0 },
    ],
  ];

  test.each(cases)('is told: %s', (_what, cells, options, drops) => {
    const scanner = scannerOf(cells, {}, options);
    while (scanner.step(1)) {
      // One cell at a time.
    }
    expect(scanner.drops).toEqual(drops);
  });

  test.each<FamilyOptions>([
    { keepDeletedCells: 'TRUE' },
    { newVersionBehavior: true },
    { minVersions: 1, versions: 2, ttl: 100 },
  ])('a marker that does not only hide what is older is a loss: %j', (family) => {
    const options = { kind: 'major', earliestPutTimestamp: 7 } as const;
    const scanner = scannerOf([cell('q', 6, DC, 6)], family, options);
    scanner.step(10);
    expect(scanner.drops).toMatchObject({ isLoss: true, markers: undefined });
  });

  test('what the whole family finds expired is no loss', () => {
    const scanner = scannerOf([cell('q', 6, DC, 6), cell('q', 5, P, 5)], { ttl: 100 }, { kind: 'major' });
    scanner.step(10);
    expect(scanner.drops).toEqual({ isLoss: false, markers: undefined, hasPuts: false, versionDeletes: 0 });
  });
});
