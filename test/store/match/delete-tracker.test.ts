import { describe, expect, test } from 'vitest';
import {
  COLUMN_DELETED,
  DeleteTracker,
  NOT_DELETED,
  VERSION_DELETED,
} from '../../../src/store/match/matcher.js';
import { ArrayCursor } from '../scan/array-cursor.js';

const D = 8;
const DFV = 10;
const DC = 12;
const DF = 14;

/** Tells the tracker markers and puts of a row in their order, and gives the verdicts on the puts. */
function verdicts(cells: readonly [qualifier: string, timestamp: number, type: number][]): number[] {
  const tracker = new DeleteTracker();
  tracker.startRow();
  const cursor = new ArrayCursor(
    cells.map(([qualifier, timestamp, type], seq) => ({ row: 'r', qualifier, timestamp, type, seq })),
  );
  const out: number[] = [];
  for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
    if (cursor.type === 4) out.push(tracker.check(cursor));
    else tracker.add(cursor);
  }
  return out;
}

describe('delete markers of a row', () => {
  test.each<[string, [string, number, number][], number[]]>([
    ['nothing hides without markers', [['q', 1, 4]], [NOT_DELETED]],
    [
      'a family marker hides every column up to its time',
      [
        ['', 5, DF],
        ['a', 6, 4],
        ['a', 5, 4],
        ['b', 1, 4],
      ],
      [NOT_DELETED, COLUMN_DELETED, COLUMN_DELETED],
    ],
    [
      'the newest family marker counts',
      [
        ['', 5, DF],
        ['', 3, DF],
        ['a', 4, 4],
      ],
      [COLUMN_DELETED],
    ],
    [
      'a family version marker hides its time in every column (R36)',
      [
        ['', 3, DFV],
        ['a', 3, 4],
        ['a', 2, 4],
        ['b', 3, 4],
      ],
      [VERSION_DELETED, NOT_DELETED, VERSION_DELETED],
    ],
    [
      'a column marker hides its column up to its time',
      [
        ['a', 3, DC],
        ['a', 4, 4],
        ['a', 3, 4],
        ['a', 1, 4],
        ['b', 1, 4],
      ],
      [NOT_DELETED, COLUMN_DELETED, COLUMN_DELETED, NOT_DELETED],
    ],
    [
      'a version marker hides its version only',
      [
        ['a', 3, D],
        ['a', 3, 4],
        ['a', 2, 4],
      ],
      [VERSION_DELETED, NOT_DELETED],
    ],
    [
      'version markers of one column each hide theirs',
      [
        ['a', 3, D],
        ['a', 3, 4],
        ['a', 2, D],
        ['a', 2, 4],
        ['a', 1, 4],
      ],
      [VERSION_DELETED, VERSION_DELETED, NOT_DELETED],
    ],
    [
      'a version marker behind a column marker changes nothing (R35)',
      [
        ['a', 5, DC],
        ['a', 3, D],
        ['a', 2, 4],
      ],
      [COLUMN_DELETED],
    ],
    [
      'a column marker behind a version marker takes over',
      [
        ['a', 5, D],
        ['a', 3, DC],
        ['a', 2, 4],
      ],
      [COLUMN_DELETED],
    ],
    [
      'a marker whose own column is over hides nothing in a longer one',
      [
        ['a', 5, DC],
        ['ab', 2, 4],
      ],
      [NOT_DELETED],
    ],
  ])('%s', (_title, cells, expected) => {
    expect(verdicts(cells)).toEqual(expected);
  });

  test('are forgotten with the row', () => {
    const tracker = new DeleteTracker();
    const cursor = new ArrayCursor([{ row: 'r', qualifier: '', timestamp: 9, type: DF, seq: 1 }]);
    cursor.seekToFirst();
    tracker.add(cursor);
    expect(tracker.active).toBe(true);
    tracker.startRow();
    const put = new ArrayCursor([{ row: 's', qualifier: '', timestamp: 1, type: 4, seq: 1 }]);
    put.seekToFirst();
    expect([tracker.active, tracker.check(put)]).toEqual([false, NOT_DELETED]);
  });
});
