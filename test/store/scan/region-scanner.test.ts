import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import { InvalidArgumentError } from '../../../src/errors.js';
import { RegionScanner } from '../../../src/store/scan/region-scanner.js';
import { KnownColumns } from '../../../src/store/scan/row-run.js';
import type { FamilySource, ReadHint } from '../../../src/store/scan/store-read.js';
import {
  type FamilyOptions,
  familyDescriptor,
  filters,
  Get,
  type Result,
  Scan,
} from '../../../src/table/index.js';
import { ArrayCursor, type RunCell } from './array-cursor.js';
import { cellsArbitrary, deal } from './runs.js';

const context = { readPoint: 100, now: 1_000_000, random: () => 0.5 };

/** A family whose cells lie in these runs. */
class RunSource implements FamilySource {
  readonly descriptor;
  readonly known = new KnownColumns();
  readonly opened: ArrayCursor[] = [];
  hint: ReadHint | undefined;

  constructor(
    private readonly runs: readonly (readonly RunCell[])[],
    options: FamilyOptions = { versions: 3 },
    name = 'f',
  ) {
    this.descriptor = familyDescriptor(name, options);
  }

  openCursors(hint: ReadHint): ArrayCursor[] {
    this.hint = hint;
    const cursors = this.runs.map((run) => new ArrayCursor(run));
    this.opened.push(...cursors);
    return cursors;
  }
}

const put = (row: string, qualifier: string, timestamp: number, seq: number, value = 'v'): RunCell => ({
  row,
  qualifier,
  timestamp,
  type: 4,
  seq,
  value,
});

function readAll(scanner: RegionScanner): Result[] {
  const results: Result[] = [];
  for (let result = scanner.next(); result; result = scanner.next()) results.push(result);
  return results;
}

const textOf = (results: readonly Result[]): string[] =>
  results.map((result) => {
    const cells = result.cells.map(
      (cell) => `${cell.family}:${toLatin1(cell.qualifier)}@${cell.timestamp}=${toLatin1(cell.value)}`,
    );
    return `${toLatin1(result.row)} ${cells.join(' ')}${result.partial ? ' …' : ''}`;
  });

const scan = (runs: readonly (readonly RunCell[])[], query = new Scan()): string[] =>
  textOf(readAll(RegionScanner.forScan([new RunSource(runs)], query, context)));

const get = (runs: readonly (readonly RunCell[])[], query: Get): string[] =>
  textOf(readAll(RegionScanner.forGet([new RunSource(runs)], query, context)));

describe('reading a region', () => {
  test('gives the same rows, however the cells are dealt out to memstores and files', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        fc.boolean(),
        (cells, k, choices, reversed, raw) => {
          const query = new Scan().setReversed(reversed).setRaw(raw).readAllVersions();
          expect(scan(deal(cells, k, choices), query)).toEqual(scan([cells], query));
        },
      ),
    );
  });

  test('a get gives what a scan of its row gives', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        fc.constantFrom('a', 'ab', 'b', 'c'),
        fc.boolean(),
        (cells, row, narrow) => {
          const wanted = (query: Get | Scan): void => {
            query.readVersions(2);
            if (narrow) query.addColumn('f', 'xy').addColumn('f', 'x');
          };
          const rowScan = new Scan().withStartRow(row).withStopRow(row, true);
          const rowGet = new Get(row);
          wanted(rowScan);
          wanted(rowGet);
          expect(get([cells], rowGet)).toEqual(scan([cells], rowScan));
        },
      ),
    );
  });

  test('does not see what was written behind its read point', () => {
    expect(scan([[put('a', 'q', 2, 101, 'later'), put('a', 'q', 1, 100, 'seen')]])).toEqual(['a f:q@1=seen']);
  });

  test('what it gave stays as it is when the cursors move on', () => {
    const results = readAll(
      RegionScanner.forScan(
        [
          new RunSource([
            [put('a', 'q', 1, 1, 'first'), put('b', 'q', 1, 2, 'x'.repeat(5000)), put('c', 'p', 1, 3)],
          ]),
        ],
        new Scan(),
        context,
      ),
    );
    expect(textOf(results)).toEqual(['a f:q@1=first', `b f:q@1=${'x'.repeat(5000)}`, 'c f:p@1=v']);
    expect(results[0]!.cells[0]!.row).toBe(results[0]!.row);
  });

  test('gives the cells of several families together, row by row, in either direction', () => {
    const f = new RunSource([[put('a', 'q', 1, 1), put('c', 'q', 1, 2)]]);
    const g = new RunSource([[put('b', 'q', 1, 3), put('c', 'q', 1, 4)]], {}, 'g');
    const rows = ['a f:q@1=v', 'b g:q@1=v', 'c f:q@1=v g:q@1=v'];
    expect(textOf(readAll(RegionScanner.forScan([f, g], new Scan(), context)))).toEqual(rows);
    const reversed = RegionScanner.forScan([f, g], new Scan().setReversed(true), context);
    expect(textOf(readAll(reversed))).toEqual(rows.reverse());
  });

  test('skips and limits the cells of each row and family', () => {
    const cells = ['a', 'b', 'c', 'd'].flatMap((q, i) => [put('r', q, 1, i), put('s', q, 1, i + 10)]);
    const query = new Scan().setMaxResultsPerColumnFamily(2).setRowOffsetPerColumnFamily(1);
    expect(scan([cells], query)).toEqual(['r f:b@1=v f:c@1=v', 's f:b@1=v f:c@1=v']);
  });

  test('gives long rows in parts, and the last part is told from the others', () => {
    const cells = ['a', 'b', 'c', 'd'].map((q, i) => put('r', q, 1, i));
    expect(scan([[...cells, put('s', 'q', 1, 9)]], new Scan().setBatch(2))).toEqual([
      'r f:a@1=v f:b@1=v …',
      'r f:c@1=v f:d@1=v',
      's f:q@1=v',
    ]);
    expect(scan([cells], new Scan().setBatch(3))).toEqual(['r f:a@1=v f:b@1=v f:c@1=v …', 'r f:d@1=v']);
    expect(scan([cells], new Scan().setBatch(3).setLimit(1))).toHaveLength(2);
  });

  test('ends at its stop row and its limit without reading further', () => {
    const cells = Array.from({ length: 20 }, (_, i) => put(`r${String(i).padStart(2, '0')}`, 'q', 1, i));
    const rows = (query: Scan): string[] => scan([cells], query).map((text) => text.slice(0, 3));
    expect(rows(new Scan().withStartRow('r03', false).withStopRow('r05', true))).toEqual(['r04', 'r05']);
    expect(rows(new Scan().withStartRow('r03').withStopRow('r05'))).toEqual(['r03', 'r04']);
    expect(rows(new Scan().setReversed(true).withStartRow('r05', false).withStopRow('r03', true))).toEqual([
      'r04',
      'r03',
    ]);
    expect(rows(new Scan().withStartRow('r10').setLimit(2))).toEqual(['r10', 'r11']);
  });

  test('tells only whether a row exists when that is all it is asked', () => {
    const exists = new Get('r').setCheckExistenceOnly(true);
    const [found] = readAll(RegionScanner.forGet([new RunSource([[put('r', 'q', 1, 1)]])], exists, context));
    expect([toLatin1(found!.row), found!.cells]).toEqual(['r', []]);
    const filtered = new Get('r')
      .setCheckExistenceOnly(true)
      .setFilter(filters.singleColumnValue('f', 'q', 'EQUAL', 'other'));
    expect(get([[put('r', 'q', 1, 1)]], filtered)).toEqual([]);
  });

  test('says what it is about, so that sources can leave out what has no part in it', () => {
    const source = new RunSource([[]], { ttl: 100, versions: 3 });
    const query = new Get('r').addColumn('f', 'b').addColumn('f', 'a').setTimeRange(5, 950_000);
    RegionScanner.forGet([source], query, context);
    expect(source.hint).toMatchObject({
      columns: [fromLatin1('a'), fromLatin1('b')],
      minTimestamp: 900_000,
      maxTimestamp: 950_000,
    });
    RegionScanner.forScan([source], new Scan().setReversed(true).withStartRow('x').withStopRow('c'), context);
    expect(source.hint).toMatchObject({ row: null, startRow: fromLatin1('c'), stopRow: fromLatin1('x') });
    const kept = new RunSource([[]], { ttl: 100, versions: 3, minVersions: 1 });
    RegionScanner.forScan([kept], new Scan(), context);
    expect(kept.hint!.minTimestamp).toBe(0);
    const counted = new RunSource([[]], { newVersionBehavior: true });
    RegionScanner.forScan([counted], new Scan().setTimeRange(5, 9), context);
    expect([counted.hint!.minTimestamp, counted.hint!.maxTimestamp]).toEqual([0, Number.MAX_SAFE_INTEGER]);
  });

  test('closes what it opened', () => {
    const source = new RunSource([[put('a', 'q', 1, 1)], []]);
    const scanner = RegionScanner.forScan([source], new Scan(), context);
    scanner.close();
    expect(source.opened.every((cursor) => cursor.closed)).toBe(true);
    expect(scanner.next()).toBeUndefined();
  });

  test('refuses columns in raw scans, and parts of rows that a filter wants whole', () => {
    const open = (query: Scan): unknown => RegionScanner.forScan([new RunSource([[]])], query, context);
    expect(() => open(new Scan().setRaw(true).addColumn('f', 'q'))).toThrow(InvalidArgumentError);
    expect(() => open(new Scan().setBatch(2).setFilter(filters.page(1)))).toThrow(InvalidArgumentError);
  });
});
