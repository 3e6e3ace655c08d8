import { compareBytes, keyAfter } from '../../bytes/index.js';
import { Scan } from '../../table/index.js';
import type { VersionSource } from '../region/region.js';
import { PendingPuts } from '../scan/cell-merge.js';
import { RegionScanner, type ScanContext } from '../scan/region-scanner.js';
import type { EmptyRange } from './empty-ranges.js';

/** So many rows without visible cells, one after the other, are a reason to look how far they reach. */
const RUN_ROWS = 16;
/** With a filter, rows without results mostly have visible cells. */
const RUN_ROWS_FILTERED = 64;
/** The most rows that are read at once to find out: others wait for that long. */
const MAX_PROBED = 8192;

/**
 * The rows without results that a scan has met one after the other in a region. It passes over those that are known to be empty
 * (`EmptyRanges`). After some that are not, it finds out once how far the empty rows reach, and makes that known.
 */
export class EmptyRun {
  private first: Uint8Array | undefined;
  private rows = 0;
  private readonly runRows: number;
  /** The number of rows at which the run is looked at. */
  private probeAt: number;
  /** Where the scan continued after it passed over a range, until it meets a row with results. */
  private edge: Uint8Array | undefined;

  constructor(
    private readonly reversed: boolean,
    filtered: boolean,
    private readonly context: ScanContext,
    /** Whether everything up to the read point is committed. What may be rolled back must not become known. */
    private readonly committed: boolean,
  ) {
    this.runRows = filtered ? RUN_ROWS_FILTERED : RUN_ROWS;
    this.probeAt = this.runRows;
  }

  /** Begins anew at a row with results, or in another region. */
  end(): void {
    this.first = undefined;
    this.edge = undefined;
    this.rows = 0;
  }

  /** How many rows without results the scan should read before it calls {@link pass}. */
  allowance(sources: readonly VersionSource[]): number {
    const { rows } = this;
    if (rows === 0) return 1;
    const left = Math.max(1, this.probeAt - rows);
    // The longer no range has begun, the more rows may be read before the next look.
    return sources.some(({ emptyRanges }) => emptyRanges!.any) ? Math.min(rows, left) : left;
  }

  /**
   * The scan has read `rows` more rows without results, the last of them `row`.
   * @param scanEnd returns where its rows in the region end: forward exclusive, in reverse inclusive. Empty: at the end of the table.
   * @returns where it may continue: forward at the end of a range, in reverse before its start. Undefined: after the row.
   */
  pass(
    sources: readonly VersionSource[],
    scanEnd: () => Uint8Array,
    row: Uint8Array,
    rows: number,
  ): Uint8Array | undefined {
    this.first ??= row;
    this.rows += rows;
    const known = this.jump(sources, row);
    if (known !== undefined || this.rows < this.probeAt || !this.committed) return known;
    const { rows: read } = this;
    const found = this.probe(sources, scanEnd(), row) ? this.jump(sources, row) : undefined;
    // What failed is tried again only after many more rows.
    this.probeAt = found === undefined ? read * 8 : this.runRows;
    return found;
  }

  /** The boundary of the range around the row that is known of all families. */
  private jump(sources: readonly VersionSource[], row: Uint8Array): Uint8Array | undefined {
    const { readPoint, now } = this.context;
    let common: EmptyRange | undefined;
    for (const { emptyRanges } of sources) {
      const range = emptyRanges!.find(row, readPoint, now);
      if (range === undefined) return undefined;
      common = common === undefined ? range : this.nearer(common, range);
    }
    if (common === undefined) return undefined;
    this.end();
    this.edge = this.reversed ? common.start : common.end;
    return this.edge;
  }

  /** The range in which the scan has less to pass over. */
  private nearer(a: EmptyRange, b: EmptyRange): EmptyRange {
    if (this.reversed) return compareBytes(a.start, b.start) >= 0 ? a : b;
    if (a.end.length === 0) return b;
    return b.end.length === 0 || compareBytes(a.end, b.end) <= 0 ? a : b;
  }

  /**
   * Reads all columns of the run's rows, and of those behind it, up to the first with a visible cell or a put that may become visible.
   * False: some row of the run has one.
   */
  private probe(sources: readonly VersionSource[], scanEnd: Uint8Array, row: Uint8Array): boolean {
    const { reversed, context } = this;
    const from = this.edge ?? (reversed ? keyAfter(this.first!) : this.first!);
    const scan = new Scan()
      .setReversed(reversed)
      .withStartRow(from, !reversed)
      .withStopRow(scanEnd, reversed);
    const pendingPuts = new PendingPuts(reversed);
    const scanner = RegionScanner.forScan(sources, scan, { ...context, pendingPuts });
    scanner.maxSkipped = MAX_PROBED;
    let shown: Uint8Array | undefined;
    let paused: Uint8Array | undefined;
    try {
      shown = this.earlier(scanner.next()?.row, pendingPuts.first);
      paused = scanner.pausedAt;
    } finally {
      scanner.close();
    }
    if (shown !== undefined && this.earlier(shown, row) === shown) return false;
    const to = shown === undefined ? (paused ?? scanEnd) : reversed ? keyAfter(shown) : shown;
    const [start, end] = reversed ? [to, from] : [from, to];
    for (const { emptyRanges } of sources) emptyRanges!.add(start, end, context.readPoint, context.now);
    return true;
  }

  /** The row that comes first in the direction of the scan; the first of two that are equal. */
  private earlier(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
    if (a === undefined || b === undefined) return a ?? b;
    const order = compareBytes(a, b);
    return (this.reversed ? order >= 0 : order <= 0) ? a : b;
  }
}
