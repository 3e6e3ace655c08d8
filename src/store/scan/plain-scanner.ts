import { compareSlices, keyAfter, sharedPrefix } from '../../bytes/index.js';
import {
  ALL_VERSIONS,
  type FamilyDescriptor,
  Get,
  type RawRow,
  type Result,
  type Scan,
} from '../../table/index.js';
import { type CellCursor, compareRows, isInRow, SeekKey } from '../cursor.js';
import { isPlainFamily, isPlainQuery, PlainRow } from './newest-put.js';
import { filterFamily, RegionScanner } from './region-scanner.js';
import { CellMaker, copyRowAhead, dropRow, StoredRowBuilder } from './row-builder.js';
import { RowRun, type RunFamily } from './row-run.js';
import { type FamilySource, familyQuery, readHint, type ScanContext } from './store-read.js';

/** The most rows that are read by scanners of their own before one scanner reads the rest. */
const MAX_MATCHED = 8;

/** Reused: scans are synchronous. */
const seekKey = new SeekKey();
const plainRow = new PlainRow();
const rowRun = new RowRun();

interface PlainFamily extends RunFamily {
  /** Its index among the families, which are in byte order. */
  readonly number: number;
  readonly maker: CellMaker;
}

/** The cursor of a memstore or file of a family. */
interface PlainSource {
  readonly cursor: CellCursor;
  readonly family: PlainFamily;
  /**
   * The length of the prefix that its row shares with the row of the source before it in the order; for the first source, with
   * the row read last. Of two rows after a third, the one that shares more with it comes first, so that finding a position
   * in the order mostly compares no bytes.
   */
  shared: number;
}

/**
 * Scans forward over the newest versions of families or some of their columns, or over everything stored, row by row from the
 * cursors of memstores and files, without matcher and filter. A row that {@link PlainRow} cannot read is read by a scanner of its own.
 * After a few such rows, and at once in raw scans, a {@link RegionScanner} reads the rest.
 */
export class PlainScanner {
  /** There is no filter, so none has ended the scan. */
  readonly filterDone = false;
  private readonly out = new StoredRowBuilder();
  private left: number;
  private matched = 0;
  /** As {@link RegionScanner.maxSkipped}. */
  maxSkipped = Number.MAX_SAFE_INTEGER;
  pausedAt: Uint8Array | undefined;
  /** The sources that are not at their end, by row and family. */
  private readonly order: PlainSource[] = [];
  /** Reads the rest of the rows, once set. */
  private rest: RegionScanner | undefined;

  private constructor(
    private readonly sources: readonly FamilySource[],
    private readonly all: readonly PlainSource[],
    private readonly scan: Scan,
    private readonly context: ScanContext,
  ) {
    this.left = scan.limit ?? Number.MAX_SAFE_INTEGER;
  }

  /** Undefined when the scan is not of this kind. */
  static open(sources: readonly FamilySource[], scan: Scan, context: ScanContext): PlainScanner | undefined {
    if (scan.reversed || scan.batch !== undefined || scan.writtenAfter !== undefined || !isPlainQuery(scan))
      return undefined;
    for (let i = 0; i < sources.length; i++) {
      const { descriptor } = sources[i]!;
      if (!(scan.raw ? isStoredFamily(descriptor, scan) : isPlainFamily(descriptor, scan.maxVersions)))
        return undefined;
    }
    const rows = {
      row: null,
      startRow: scan.startRow.length === 0 ? null : scan.startRow,
      stopRow: scan.stopRow.length === 0 ? null : scan.stopRow,
      cacheBlocks: scan.cacheBlocks,
      reversed: false,
      rows: scan.limit,
    };
    const all: PlainSource[] = [];
    for (let i = 0; i < sources.length; i++) {
      const { descriptor, known } = sources[i]!;
      const { name } = descriptor;
      const part = familyQuery(descriptor, filterFamily(name), scan, scan.raw, context.now, undefined, false);
      const maker = new CellMaker(name, undefined);
      const { columns, oldestUnexpired } = part;
      const family = { number: i, name, maker, known, columns, oldestUnexpired };
      for (const cursor of sources[i]!.openCursors(readHint(part, rows)))
        all.push({ cursor, family, shared: 0 });
    }
    const scanner = new PlainScanner(sources, all, scan, context);
    scanner.seek();
    return scanner;
  }

  private seek(): void {
    const { startRow, includeStartRow } = this.scan;
    seekKey.setRow(startRow.length === 0 || includeStartRow ? startRow : keyAfter(startRow));
    for (const { cursor } of this.all) cursor.seek(seekKey);
    this.sortSources();
  }

  /** Sorts the sources that are not at their end. */
  private sortSources(): void {
    const { order } = this;
    order.length = 0;
    for (const source of this.all) if (source.cursor.valid) order.push(source);
    order.sort(compareSources);
    for (let i = 1; i < order.length; i++)
      order[i]!.shared = sharedOf(order[i - 1]!.cursor, order[i]!.cursor, 0);
  }

  /** The next row; undefined at the end. */
  next(): Result | undefined {
    return this.step(null);
  }

  /** Reads the next row into `raw`; the returned result only says that there is one. */
  nextRaw(raw: RawRow): Result | undefined {
    return this.step(raw);
  }

  private step(raw: RawRow | null): Result | undefined {
    if (this.rest !== undefined) return this.continueRest(this.rest, raw);
    const { out, order } = this;
    const stored = this.scan.raw;
    plainRow.stored = stored;
    plainRow.raw = raw;
    plainRow.out = out;
    plainRow.rule.readPoint = this.context.readPoint;
    rowRun.rule.readPoint = this.context.readPoint;
    rowRun.raw = raw;
    rowRun.out = out;
    while (this.left > 0 && order.length > 0) {
      const first = order[0]!.cursor;
      if (this.isBeyondStop(first)) break;
      out.raw = raw;
      out.count = 0;
      raw?.clear();
      const row =
        raw === null
          ? copyRowAhead(first, order[0]!.family.columns === null)
          : raw.setRow(first.key, first.rowOffset, first.rowLength);
      if ((stored && raw !== null) || !this.readPlain(row)) {
        if (stored || this.matched++ >= MAX_MATCHED) return this.continueRest(this.leaveToScanner(row), raw);
        const result = this.readMatched(row, raw);
        if (result === undefined && --this.maxSkipped <= 0) return this.pause(row);
        if (result === undefined) continue;
        this.left--;
        return result;
      }
      if (raw === null ? out.count > 0 : raw.count > 0) {
        this.left--;
        return out.take(row, false);
      }
      if (--this.maxSkipped <= 0) return this.pause(row);
      if (raw === null) dropRow(row);
    }
    this.left = 0;
    return undefined;
  }

  /** Like `readRest`, from the scanner that reads the rest. */
  private continueRest(rest: RegionScanner, raw: RawRow | null): Result | undefined {
    rest.maxSkipped = this.maxSkipped;
    const result = readRest(rest, raw);
    this.maxSkipped = rest.maxSkipped;
    this.pausedAt = rest.pausedAt;
    return result;
  }

  private pause(row: Uint8Array): undefined {
    this.pausedAt = row.slice();
  }

  private isBeyondStop(cursor: CellCursor): boolean {
    const { stopRow, includeStopRow } = this.scan;
    if (stopRow.length === 0) return false;
    const { key, rowOffset, rowLength } = cursor;
    const order = compareSlices(key, rowOffset, rowLength, stopRow, 0, stopRow.length);
    return order > 0 || (order === 0 && !includeStopRow);
  }

  /** Reads the first row, and moves past it. False when it needs a matcher. */
  private readPlain(row: Uint8Array): boolean {
    const { order } = this;
    const { raw } = plainRow;
    let count = 0;
    let head = raw === null ? order[0]!.cursor : null;
    do {
      const first = order[count]!;
      const from = count++;
      while (this.isInRow(count, row) && order[count]!.family === first.family) count++;
      if (!this.readFamily(from, count, row, head)) return false;
      head = null;
    } while (this.isInRow(count, row));
    this.sortIn(count, row);
    return true;
  }

  /** Reads the cells that the sources from `from` to `to`, all of one family, have of the row. */
  private readFamily(from: number, to: number, row: Uint8Array, head: CellCursor | null): boolean {
    const { order } = this;
    const { family, cursor } = order[from]!;
    const inRuns = !this.scan.raw;
    const alone = to - from === 1;
    if (alone && inRuns && rowRun.readOne(cursor, row, family, head)) {
      cursor.leaveRow();
      return true;
    }
    plainRow.begin();
    for (let i = from; i < to; i++) plainRow.add(order[i]!.cursor);
    if (!alone && inRuns && rowRun.read(plainRow, row, family, head)) {
      for (let i = from; i < to; i++) order[i]!.cursor.leaveRow();
      plainRow.begin();
      return true;
    }
    const { maker, known, columns, oldestUnexpired } = family;
    const cells = plainRow.raw ?? this.out;
    const before = cells.count;
    if (!plainRow.read(maker, row, columns, oldestUnexpired, head)) return false;
    if (columns === null && !this.scan.raw) known.learn(cells, before);
    return true;
  }

  /** Whether the source is in the row, as all before it are. */
  private isInRow(place: number, { length }: Uint8Array): boolean {
    const { order } = this;
    if (place >= order.length) return false;
    const { shared, cursor } = order[place]!;
    return shared === length && cursor.rowLength === length;
  }

  /** Sorts in the first `count` sources, which have moved past the row. */
  private sortIn(count: number, row: Uint8Array): void {
    const { order } = this;
    for (let i = count - 1; i >= 0; i--) {
      // Those after it are in order.
      if (!order[i]!.cursor.valid) order.splice(i, 1);
      else if (order.length > 1) this.moveToPlace(i, row);
    }
  }

  /** Moves the source at `from` to its position among those after it. */
  private moveToPlace(from: number, row: Uint8Array): void {
    const { order } = this;
    const source = order[from]!;
    const { key, rowOffset, rowLength } = source.cursor;
    let shared = sharedPrefix(row, 0, row.length, key, rowOffset, rowLength);
    let place = from;
    for (; place + 1 < order.length; place++) {
      const next = order[place + 1]!;
      if (shared > next.shared) break;
      if (shared === next.shared) {
        const common = sharedOf(source.cursor, next.cursor, shared);
        if (compareFrom(source, next, common) < 0) {
          next.shared = common;
          break;
        }
        order[place] = next;
        shared = common;
      } else {
        order[place] = next;
      }
    }
    source.shared = shared;
    order[place] = source;
  }

  /** Reads the row like a get, and moves past it. */
  private readMatched(row: Uint8Array, raw: RawRow | null): Result | undefined {
    const kept = row.slice();
    const scanner = RegionScanner.forGet(this.sources, this.getOf(kept), this.context);
    let result: Result | undefined;
    try {
      result = readRest(scanner, raw);
    } finally {
      scanner.close();
    }
    for (const { cursor } of this.all) while (cursor.valid && isInRow(cursor, kept)) cursor.next();
    this.sortSources();
    return result;
  }

  /** The query of the scan, for one row. */
  private getOf(row: Uint8Array): Get {
    const get = new Get(row);
    for (const [family, columns] of this.scan.families) {
      if (columns === null) get.addFamily(family);
      else for (const column of columns) get.addColumn(family, column);
    }
    return get;
  }

  /** Leaves this row and the rest to a region scanner. */
  private leaveToScanner(row: Uint8Array): RegionScanner {
    const scan = this.scan.copy().withStartRow(row.slice());
    if (scan.limit !== undefined) scan.setLimit(this.left);
    this.closeCursors();
    this.rest = RegionScanner.forScan(this.sources, scan, this.context);
    return this.rest;
  }

  close(): void {
    this.left = 0;
    if (this.rest === undefined) this.closeCursors();
    else this.rest.close();
  }

  private closeCursors(): void {
    for (const { cursor } of this.all) cursor.close();
  }
}

/** Whether the scan sees every cell of the family. */
function isStoredFamily({ name }: FamilyDescriptor, { families, maxVersions }: Scan): boolean {
  return maxVersions === ALL_VERSIONS && (families.get(name) ?? null) === null;
}

function readRest(scanner: RegionScanner, raw: RawRow | null): Result | undefined {
  return raw === null ? scanner.next() : scanner.nextRaw(raw);
}

/** The length of the common prefix of two rows, which is at least `from`. */
function sharedOf(a: CellCursor, b: CellCursor, from: number): number {
  return (
    from +
    sharedPrefix(a.key, a.rowOffset + from, a.rowLength - from, b.key, b.rowOffset + from, b.rowLength - from)
  );
}

/** Like `compareSources`, for sources whose rows have exactly the first `shared` bytes in common. */
function compareFrom(a: PlainSource, b: PlainSource, shared: number): number {
  const first = a.cursor;
  const second = b.cursor;
  const ends = shared === first.rowLength || shared === second.rowLength;
  if (!ends) return first.key[first.rowOffset + shared]! - second.key[second.rowOffset + shared]!;
  const difference = first.rowLength - second.rowLength;
  return difference !== 0 ? difference : a.family.number - b.family.number;
}

function compareSources(a: PlainSource, b: PlainSource): number {
  const difference = compareRows(a.cursor, b.cursor);
  return difference !== 0 ? difference : a.family.number - b.family.number;
}
