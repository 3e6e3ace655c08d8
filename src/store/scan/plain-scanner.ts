/**
 * Scans forward over the newest versions of whole families, row by row from the cursors of memstores and files
 * themselves, without merge, matcher and filter, as long as each row of a family is in one of them and nothing in it
 * hides or expires. A row that is not so is read by a scanner of its own; after a few of them that one takes over.
 */

import { compareSlices } from '../../bytes/index.js';
import { Get, LATEST_TIMESTAMP, type RawRow, type Result, Scan } from '../../table/index.js';
import { type CellCursor, isInRow, SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import type { FamilySource, ScanContext } from './family-source.js';
import { copyPlainCells } from './plain-cells.js';
import { filterFamily, RegionScanner } from './region-scanner.js';
import { CellMaker, copyRow, dropRow, RowBuilder } from './row-builder.js';
import { familyQuery, isPlain, readHint } from './store-read.js';
import { withZero } from './store-scanner.js';

/** With more memstores and files a heap finds the next row faster than a look at each. */
const MOST_CURSORS = 8;
/** Rows read by a scanner of their own before the rest is left to one scanner. */
const MOST_MATCHED = 8;

/** Scans open one after the other: one key serves them all. */
const seekKey = new SeekKey();

interface PlainFamily {
  readonly cursors: readonly CellCursor[];
  readonly maker: CellMaker;
}

export class PlainScanner {
  /** No filter, so none has ended the scan. */
  readonly filterDone = false;
  private readonly out = new RowBuilder();
  private left: number;
  private matched = 0;
  /** Reads what comes next instead of this one. */
  private rest: RegionScanner | undefined;

  private constructor(
    private readonly sources: readonly FamilySource[],
    private readonly families: readonly PlainFamily[],
    private readonly scan: Scan,
    private readonly context: ScanContext,
  ) {
    this.left = scan.limit ?? Number.MAX_SAFE_INTEGER;
  }

  /** Undefined when the scan is none of these, or goes over many memstores and files. */
  static open(sources: readonly FamilySource[], scan: Scan, context: ScanContext): PlainScanner | undefined {
    if (!asksForPlainRows(scan)) return undefined;
    const rows = {
      row: null,
      startRow: scan.startRow.length === 0 ? null : scan.startRow,
      stopRow: scan.stopRow.length === 0 ? null : scan.stopRow,
      cacheBlocks: scan.cacheBlocks,
      reversed: false,
    };
    const parts = sources.map(({ descriptor }) =>
      familyQuery(descriptor, filterFamily(descriptor.name), scan, false, context.now, undefined, false),
    );
    if (!parts.every(isPlain)) return undefined;
    let count = 0;
    const families = sources.map((source, i) => {
      const cursors = source.openCursors(readHint(parts[i]!, rows));
      count += cursors.length;
      return { cursors, maker: new CellMaker(source.descriptor.name, undefined) };
    });
    const scanner = new PlainScanner(sources, families, scan, context);
    if (count > MOST_CURSORS) {
      scanner.close();
      return undefined;
    }
    scanner.seek();
    return scanner;
  }

  private seek(): void {
    const { startRow, includeStartRow } = this.scan;
    const row = startRow.length === 0 || includeStartRow ? startRow : withZero(startRow);
    seekKey.row = row;
    seekKey.rowLength = row.length;
    seekKey.qualifierLength = 0;
    seekKey.timestamp = LATEST_TIMESTAMP;
    seekKey.type = TYPE_MAXIMUM;
    for (const { cursors } of this.families) for (const cursor of cursors) cursor.seek(seekKey);
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
    const { out } = this;
    while (this.left > 0) {
      const first = this.firstCursor();
      if (first === undefined || this.isBeyondStop(first)) break;
      out.raw = raw;
      out.count = 0;
      raw?.clear();
      const row = raw === null ? copyRow(first) : raw.setRow(first.key, first.rowOffset, first.rowLength);
      if (!this.readPlain(row, raw)) {
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

  /** The cursor with the least row. */
  private firstCursor(): CellCursor | undefined {
    const { families } = this;
    let first: CellCursor | undefined;
    for (let i = 0; i < families.length; i++) {
      const { cursors } = families[i]!;
      for (let j = 0; j < cursors.length; j++) {
        const cursor = cursors[j]!;
        if (!cursor.valid) continue;
        if (first === undefined || compareRows(cursor, first) < 0) first = cursor;
      }
    }
    return first;
  }

  private isBeyondStop(cursor: CellCursor): boolean {
    const { stopRow, includeStopRow } = this.scan;
    if (stopRow.length === 0) return false;
    const { key, rowOffset, rowLength } = cursor;
    const order = compareSlices(key, rowOffset, rowLength, stopRow, 0, stopRow.length);
    return order > 0 || (order === 0 && !includeStopRow);
  }

  /** False when the row takes a matcher. */
  private readPlain(row: Uint8Array, raw: RawRow | null): boolean {
    const { families, out } = this;
    const { readPoint } = this.context;
    for (let i = 0; i < families.length; i++) {
      const { cursors, maker } = families[i]!;
      let found: CellCursor | undefined;
      for (let j = 0; j < cursors.length; j++) {
        const cursor = cursors[j]!;
        if (!cursor.valid || !isInRow(cursor, row)) continue;
        if (found !== undefined) return false;
        found = cursor;
      }
      if (found !== undefined && !copyPlainCells(found, maker, row, readPoint, raw, out)) return false;
    }
    return true;
  }

  /** Reads the row as a get does, and goes on behind it. */
  private readMatched(row: Uint8Array, raw: RawRow | null): Result | undefined {
    const kept = row.slice();
    const scanner = RegionScanner.forGet(this.sources, new Get(kept), this.context);
    let result: Result | undefined;
    try {
      result = readRest(scanner, raw);
    } finally {
      scanner.close();
    }
    for (const { cursors } of this.families) {
      for (const cursor of cursors) while (cursor.valid && isInRow(cursor, kept)) cursor.next();
    }
    return result;
  }

  /** Leaves this row and all behind it to a scanner for every case. */
  private handOver(row: Uint8Array): RegionScanner {
    const scan = Object.assign(new Scan(), this.scan).withStartRow(row.slice());
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
    for (const { cursors } of this.families) for (const cursor of cursors) cursor.close();
  }
}

function asksForPlainRows(scan: Scan): boolean {
  return (
    !scan.reversed &&
    !scan.raw &&
    scan.filter === undefined &&
    scan.batch === undefined &&
    scan.rowOffsetPerColumnFamily === 0 &&
    scan.maxResultsPerColumnFamily === undefined
  );
}

function readRest(scanner: RegionScanner, raw: RawRow | null): Result | undefined {
  return raw === null ? scanner.next() : scanner.nextRaw(raw);
}

function compareRows(a: CellCursor, b: CellCursor): number {
  return compareSlices(a.key, a.rowOffset, a.rowLength, b.key, b.rowOffset, b.rowLength);
}
