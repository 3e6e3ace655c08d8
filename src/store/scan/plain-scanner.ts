/**
 * Scans forward over the newest versions of families or some of their columns, row by row from the cursors of memstores and files
 * themselves, without matcher and filter. A row that a {@link PlainRow} cannot read is read by a scanner of its own; after
 * a few of them that one takes over.
 */

import { compareSlices, keyAfter } from '../../bytes/index.js';
import { Get, type RawRow, type Result, type Scan } from '../../table/index.js';
import { type CellCursor, compareRows, isInRow, SeekKey } from '../cursor.js';
import type { FamilySource, ScanContext } from './family-source.js';
import { isPlainFamily, isPlainQuery, PlainRow } from './plain-row.js';
import { filterFamily, RegionScanner } from './region-scanner.js';
import { CellMaker, copyRowAhead, dropRow, RowBuilder } from './row-builder.js';
import { RowRun, type RunFamily } from './row-run.js';
import { familyQuery, readHint } from './store-read.js';

/** Rows read by a scanner of their own before the rest is left to one scanner. */
const MOST_MATCHED = 8;
/** Sources that are looked at one by one before a search. */
const NEAR = 4;

/** Scans are synchronous: one key and one pair of readers of rows serve them all. */
const seekKey = new SeekKey();
const plainRow = new PlainRow();
const rowRun = new RowRun();

interface PlainFamily extends RunFamily {
  /** Its place among the families, which is their byte order. */
  readonly number: number;
  readonly maker: CellMaker;
}

/** A memstore or file of a family. */
interface PlainSource {
  readonly cursor: CellCursor;
  readonly family: PlainFamily;
}

export class PlainScanner {
  /** No filter, so none has ended the scan. */
  readonly filterDone = false;
  private readonly out = new RowBuilder();
  private left: number;
  private matched = 0;
  /** What is not at its end, by row and family. */
  private readonly order: PlainSource[] = [];
  /** Reads what comes next instead of this one. */
  private rest: RegionScanner | undefined;

  private constructor(
    private readonly sources: readonly FamilySource[],
    private readonly all: readonly PlainSource[],
    private readonly scan: Scan,
    private readonly context: ScanContext,
  ) {
    this.left = scan.limit ?? Number.MAX_SAFE_INTEGER;
  }

  /** Undefined when the scan is none of these. */
  static open(sources: readonly FamilySource[], scan: Scan, context: ScanContext): PlainScanner | undefined {
    if (scan.reversed || scan.raw || scan.batch !== undefined || !isPlainQuery(scan)) return undefined;
    for (let i = 0; i < sources.length; i++) {
      const { descriptor } = sources[i]!;
      if (!isPlainFamily(descriptor, scan.maxVersions)) return undefined;
    }
    const rows = {
      row: null,
      startRow: scan.startRow.length === 0 ? null : scan.startRow,
      stopRow: scan.stopRow.length === 0 ? null : scan.stopRow,
      cacheBlocks: scan.cacheBlocks,
      reversed: false,
    };
    const all: PlainSource[] = [];
    for (let i = 0; i < sources.length; i++) {
      const { descriptor, known } = sources[i]!;
      const { name } = descriptor;
      const part = familyQuery(descriptor, filterFamily(name), scan, false, context.now, undefined, false);
      const maker = new CellMaker(name, undefined);
      const { columns, oldestUnexpired } = part;
      const family = { number: i, name, maker, known, columns, oldestUnexpired };
      for (const cursor of sources[i]!.openCursors(readHint(part, rows))) all.push({ cursor, family });
    }
    const scanner = new PlainScanner(sources, all, scan, context);
    scanner.seek();
    return scanner;
  }

  private seek(): void {
    const { startRow, includeStartRow } = this.scan;
    seekKey.setRow(startRow.length === 0 || includeStartRow ? startRow : keyAfter(startRow));
    for (const source of this.all) if (source.cursor.seek(seekKey)) this.insert(source);
  }

  private insert(source: PlainSource): void {
    this.order.splice(this.placeOf(source, 0), 0, source);
  }

  /** The first place, from `from` on, of a source that comes behind this one. */
  private placeOf(source: PlainSource, from: number): number {
    const { order } = this;
    let low = from;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareSources(source, order[middle]!) < 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The next row; undefined at the end. */
  next(): Result | undefined {
    return this.step(null);
  }

  /** The next row in `raw`; what is answered only says that there is one. */
  nextRaw(raw: RawRow): Result | undefined {
    return this.step(raw);
  }

  private step(raw: RawRow | null): Result | undefined {
    if (this.rest !== undefined) return readRest(this.rest, raw);
    const { out, order } = this;
    plainRow.raw = raw;
    plainRow.out = out;
    plainRow.readPoint = this.context.readPoint;
    rowRun.readPoint = this.context.readPoint;
    while (this.left > 0 && order.length > 0) {
      const first = order[0]!.cursor;
      if (this.isBeyondStop(first)) break;
      out.raw = raw;
      out.count = 0;
      raw?.clear();
      const row =
        raw === null ? copyRowAhead(first) : raw.setRow(first.key, first.rowOffset, first.rowLength);
      if (!this.readPlain(row)) {
        if (this.matched++ >= MOST_MATCHED) return readRest(this.handOver(row), raw);
        const result = this.readMatched(row, raw);
        if (result === undefined) continue;
        this.left--;
        return result;
      }
      if (raw === null ? out.count > 0 : raw.count > 0) {
        this.left--;
        return out.take(row, false);
      }
      if (raw === null) dropRow(row);
    }
    this.left = 0;
    return undefined;
  }

  private isBeyondStop(cursor: CellCursor): boolean {
    const { stopRow, includeStopRow } = this.scan;
    if (stopRow.length === 0) return false;
    const { key, rowOffset, rowLength } = cursor;
    const order = compareSlices(key, rowOffset, rowLength, stopRow, 0, stopRow.length);
    return order > 0 || (order === 0 && !includeStopRow);
  }

  /** Reads the row that comes first, and goes on behind it. False when it takes a matcher. */
  private readPlain(row: Uint8Array): boolean {
    const { order } = this;
    const { raw } = plainRow;
    let count = 0;
    let fresh = raw === null;
    do {
      const first = order[count]!;
      const from = count++;
      while (this.isInRow(count, row) && order[count]!.family === first.family) count++;
      if (count - from > 1) {
        if (!this.readMerged(from, count, row, fresh)) return false;
      } else if (raw === null || !rowRun.read(first.cursor, raw, first.family)) {
        if (!readAlone(first, row, fresh)) return false;
      }
      fresh = false;
    } while (this.isInRow(count, row));
    this.settle(count);
    return true;
  }

  /** Reads what the sources from `from` to `to`, all of one family, have of the row. */
  private readMerged(from: number, to: number, row: Uint8Array, fresh: boolean): boolean {
    const { order } = this;
    const { maker, columns, oldestUnexpired } = order[from]!.family;
    plainRow.begin();
    for (let i = from; i < to; i++) plainRow.add(order[i]!.cursor);
    return plainRow.read(maker, row, columns, oldestUnexpired, fresh);
  }

  private isInRow(place: number, row: Uint8Array): boolean {
    return place < this.order.length && isInRow(this.order[place]!.cursor, row);
  }

  /** Brings the first `count` sources, which were moved on, back into order. */
  private settle(count: number): void {
    const { order } = this;
    for (let i = count - 1; i >= 0; i--) {
      const source = order[i]!;
      // Those behind it are in order.
      if (source.cursor.valid) this.moveBehind(source, i);
      else order.splice(i, 1);
    }
  }

  /** Moves the source at `from` to its place among those behind it. The length of the array stays: to set it is dear. */
  private moveBehind(source: PlainSource, from: number): void {
    const { order } = this;
    const last = order.length - 1;
    const near = from + NEAR < last ? from + NEAR : last;
    let place = from;
    while (place < near && compareSources(source, order[place + 1]!) > 0) order[place] = order[++place]!;
    if (place === near && near < last) {
      const to = this.placeOf(source, near + 1) - 1;
      for (; place < to; place++) order[place] = order[place + 1]!;
    }
    order[place] = source;
  }

  /** Reads the row as a get does, and goes on behind it. */
  private readMatched(row: Uint8Array, raw: RawRow | null): Result | undefined {
    const kept = row.slice();
    const scanner = RegionScanner.forGet(this.sources, this.getOf(kept), this.context);
    let result: Result | undefined;
    try {
      result = readRest(scanner, raw);
    } finally {
      scanner.close();
    }
    this.order.length = 0;
    for (const source of this.all) {
      const { cursor } = source;
      while (cursor.valid && isInRow(cursor, kept)) cursor.next();
      if (cursor.valid) this.insert(source);
    }
    return result;
  }

  /** What the scan asks for, of one row. */
  private getOf(row: Uint8Array): Get {
    const get = new Get(row);
    for (const [family, columns] of this.scan.families) {
      if (columns === null) get.addFamily(family);
      else for (const column of columns) get.addColumn(family, column);
    }
    return get;
  }

  /** Leaves this row and all behind it to a scanner for every case. */
  private handOver(row: Uint8Array): RegionScanner {
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

/** Reads what a source, that alone of its family stands in the row, has of it. */
function readAlone({ cursor, family }: PlainSource, row: Uint8Array, fresh: boolean): boolean {
  const { maker, known, columns, oldestUnexpired } = family;
  const { raw } = plainRow;
  const before = raw === null ? 0 : raw.count;
  if (!plainRow.readAlone(cursor, maker, row, columns, oldestUnexpired, fresh)) return false;
  if (raw !== null && columns === null) known.learn(raw, before);
  return true;
}

function readRest(scanner: RegionScanner, raw: RawRow | null): Result | undefined {
  return raw === null ? scanner.next() : scanner.nextRaw(raw);
}

function compareSources(a: PlainSource, b: PlainSource): number {
  const difference = compareRows(a.cursor, b.cursor);
  return difference !== 0 ? difference : a.family.number - b.family.number;
}
