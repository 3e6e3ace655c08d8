/**
 * Reads rows by index entries on asynchronous tables.
 *
 * Writers may move rows between entries meanwhile, so an entry that a scan meets is a hint only: the row, when it is
 * read, decides whether the query asks for it and at which position it belongs. Each row is returned once.
 *
 * A scan of one snapshot (one region, one scanner) meets every row that exists throughout. Over several snapshots a
 * row can move from the part not yet scanned to the part already scanned. So entries that were written or removed
 * since the query began are read once more at the end; removed ones by their delete markers.
 */

import { randomBytes } from 'node:crypto';
import { compareBytes, copyBytes, EMPTY_BYTES, equalBytes, toLatin1 } from '../../../bytes/index.js';
import { throwIfAborted } from '../../../errors.js';
import { murmur3InPlace } from '../../../key/digest.js';
import type { KeyRange } from '../../../key/types.js';
import type { TableAccess } from '../../../query/access.js';
import { loadTexts } from '../../../query/loader.js';
import { applyReadSet } from '../../../query/projection.js';
import {
  applyHints,
  applyScanHints,
  comparePlaced,
  type Position,
  type ReadPlan,
  rangesFrom,
  scanOf,
} from '../../../query/read-plan.js';
import {
  fittingRows,
  type Moments,
  type PositionOrder,
  type ReadOptions,
  type Row,
  type RowCursor,
  valueBytes,
  valueIn,
} from '../../../query/row.js';
import { Get, LATEST_TIMESTAMP, RawRow, type Result, type ResultScanner } from '../../../table/index.js';
import { dataRowOf, decodeEntry, ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../entry.js';
import { coverRow, decodesEntries, type IndexPlan } from './plan.js';

/** The most entries looked up at once. */
const LARGEST_LOOKUP = 256;
/** The most rows held back for their order. Rows beyond are returned at once. */
const MAX_AHEAD = 1024;

/** A row to be returned, with its entry. */
interface PositionedRow {
  readonly place: Uint8Array;
  readonly row: Row;
}

/** An entry that was read. `row`: the row, where the entry covers the query. */
interface ScannedEntry {
  readonly entry: Uint8Array | undefined;
  readonly dataRow: Uint8Array;
  readonly row: Row | undefined;
}

/** Tests rows by their present values: which entries they have, and which of these the query asks for. */
export class RequestedEntries {
  constructor(protected readonly plan: IndexPlan) {}

  /** Whether the query asks for one of the row's entries. */
  hasOne(row: Row): boolean {
    return this.entriesOf(row).some((entry) => this.isRequested(entry));
  }

  protected entriesOf(row: Row): readonly Uint8Array[] {
    const index = this.plan.use.path;
    const entity = row instanceof RawRow ? index.reader.readRaw(row) : index.reader.read(row);
    return entity === null ? NO_ENTRIES : index.rowsOf(entity, row);
  }

  protected isRequested(entry: Uint8Array): boolean {
    const { ranges, check } = this.plan.keyPlan;
    return (
      ranges.some(
        ({ start, stop }) =>
          compareBytes(start, entry) <= 0 && (stop === undefined || compareBytes(entry, stop) < 0),
      ) &&
      (check === undefined || check(entry))
    );
  }
}

const NO_ENTRIES: readonly Uint8Array[] = Object.freeze([]);

/** The positions of rows in an index. */
export class EntryPositions extends RequestedEntries implements PositionOrder {
  outOfOrder = false;

  constructor(
    plan: IndexPlan,
    private readonly reading: ReadPlan,
    private readonly position: Position | undefined,
  ) {
    super(plan);
  }

  /** Compares positions in the order of reading: descending in a reversed one. */
  readonly compare = (a: Uint8Array, b: Uint8Array): number => {
    const order = this.forward(a, b);
    return this.reading.reversed ? -order : order;
  };

  private forward(a: Uint8Array, b: Uint8Array): number {
    const { reading } = this;
    if (reading.order !== 'merge') return compareBytes(a, b);
    const layout = this.plan.use.path.index.layout;
    const placed = (key: Uint8Array) => ({
      key,
      logical: reading.mergeOffset === undefined ? layout.logicalBytes(key) : EMPTY_BYTES,
    });
    return comparePlaced(reading, placed(a), placed(b));
  }

  /**
   * The row's entry that the query asks for; of several, the first in index order, also when reversed, so that it is
   * the exact reverse. Undefined: none, or an earlier page has returned the row. `scanned`: the entry by which
   * the scan found the row.
   */
  of(row: Row, scanned: Uint8Array | undefined): Uint8Array | undefined {
    const { position } = this;
    const entries = this.entriesOf(row);
    if (entries.length === 1 && scanned !== undefined && equalBytes(entries[0]!, scanned)) return scanned;
    let first: Uint8Array | undefined;
    for (const entry of entries) {
      if (!this.isRequested(entry)) continue;
      if (first === undefined || this.forward(entry, first) < 0) first = entry;
    }
    if (first === undefined || position === undefined) return first;
    return this.compare(first, position.key) > 0 ? first : undefined;
  }
}

/** Reads rows by entries, in batches, in the order of their entries. */
export class LookupCursor implements RowCursor {
  row: Row | undefined;
  readonly entity = 0;
  place: Uint8Array | undefined;
  readonly positions: EntryPositions;
  private left: number;
  private ready: readonly PositionedRow[] = [];
  private at = 0;
  private size: number;
  private furthest: Uint8Array | undefined;
  /** Rows whose positions the scan has not reached yet, in order. */
  private ahead: PositionedRow[] = [];
  /** Rows with several entries that the scan found by another entry than their first. */
  private readonly awaited = new Map<string, Uint8Array>();
  private readonly returned = new ReturnedRows();
  /** For ranges of one entry each: those that gave a row. */
  private readonly points: Set<string> | undefined;
  private readonly reader: EntryReader;
  /** Whether values of covering entries must be decoded from the entry's row. */
  private readonly decodes: boolean;
  /** Entries written from this timestamp on may belong to changes that were in progress when the query began. */
  private readonly since: number | undefined;
  private state: 'entries' | 'rest' | 'ended' = 'entries';
  private lacks = false;
  private late: AsyncGenerator<readonly ScannedEntry[]> | undefined;

  constructor(
    private readonly plan: IndexPlan,
    private readonly reading: ReadPlan,
    private readonly entries: RowCursor,
    private readonly rows: TableAccess,
    private readonly options: ReadOptions,
    private readonly moments: Moments,
    private readonly position: Position | undefined,
  ) {
    this.left = options.limit ?? Number.POSITIVE_INFINITY;
    this.size = Math.max(1, Math.min(options.expected, this.left, LARGEST_LOOKUP));
    this.positions = new EntryPositions(plan, reading, position);
    this.reader = new EntryReader(plan.use.path.index);
    this.decodes = plan.covered && decodesEntries(plan.covering);
    this.since = rows.indexing?.repair?.since();
    this.points = reading.parts[0]!.points ? new Set() : undefined;
  }

  advance(): boolean | Promise<boolean> {
    if (this.left <= 0 || (this.at >= this.ready.length && this.state === 'ended')) {
      this.row = undefined;
      return false;
    }
    if (this.at >= this.ready.length) return this.fetch().then(() => this.advance());
    const { place, row } = this.ready[this.at++]!;
    this.place = place;
    this.row = row;
    this.left--;
    return true;
  }

  /** Reads the next batch of rows. */
  private async fetch(): Promise<void> {
    throwIfAborted(this.options.signal);
    this.at = 0;
    this.ready = [];
    if (this.state === 'entries') {
      await this.fetchScanned();
      return;
    }
    this.late ??= this.lateRows();
    const { done, value } = await this.late.next();
    if (done) this.state = 'ended';
    else this.inOrder(await this.lookUp(value), undefined);
  }

  private async fetchScanned(): Promise<void> {
    const size = Math.min(this.size, this.left);
    this.size = Math.min(this.size * 2, LARGEST_LOOKUP);
    const scanned: ScannedEntry[] = [];
    while (scanned.length < size) {
      const more = this.entries.advance();
      if (!(typeof more === 'boolean' ? more : await more)) {
        this.state = 'rest';
        break;
      }
      const one = this.nextEntry();
      if (!this.returned.has(one.dataRow)) scanned.push(one);
    }
    const found = await this.lookUp(scanned);
    const isMoved = found.some(({ place }, i) => place !== found[i]!.scanned);
    const end = this.state === 'rest' ? undefined : scanned.at(-1)?.entry;
    if (isMoved || this.ahead.length > 0) this.inOrder(found, end);
    else {
      this.ready = found;
      this.furthest = found.at(-1)?.place ?? this.furthest;
    }
  }

  /** Returns rows in order up to `end`. Rows after it are held back, as far as there is room. */
  private inOrder(found: readonly PositionedRow[], end: Uint8Array | undefined): void {
    const { positions } = this;
    const all = [...found, ...this.ahead].sort((a, b) => positions.compare(a.place, b.place));
    let count = all.length;
    if (end !== undefined) {
      while (count > 0 && positions.compare(all[count - 1]!.place, end) > 0) count--;
      count = Math.max(count, all.length - MAX_AHEAD);
    }
    this.ahead = all.splice(count);
    this.ready = all;
    const [first] = all;
    const { furthest } = this;
    if (first === undefined) return;
    if (furthest !== undefined && positions.compare(first.place, furthest) < 0) positions.outOfOrder = true;
    const last = all.at(-1)!.place;
    if (furthest === undefined || positions.compare(last, furthest) > 0) this.furthest = last;
  }

  /** The entry at the scan's position. */
  private nextEntry(): ScannedEntry {
    const { plan, reader, rows } = this;
    const index = plan.use.path;
    const stands = this.entries.row!;
    const entry = copyBytes(stands.row);
    const value = valueIn(stands, INDEX_FAMILY, ENTRY_QUALIFIER) ?? EMPTY_BYTES;
    reader.read(entry, value, 0, value.length);
    const { dataRow } = reader;
    if (reader.state !== VERIFIED) rows.indexing?.repair?.note({ index, row: entry });
    if (!plan.covered || reader.state !== VERIFIED) return { entry, dataRow, row: undefined };
    const made = new RawRow();
    coverRow(index, plan.covering, this.decodes, reader, entry, value, made);
    return { entry, dataRow, row: made.toResult() };
  }

  /**
   * Reads the rows of these entries. Returns those that the query asks for and has not returned yet, with their
   * positions.
   */
  private async lookUp(
    scanned: readonly ScannedEntry[],
  ): Promise<(PositionedRow & { scanned: Uint8Array | undefined })[]> {
    const { plan, rows, options, positions, returned, points } = this;
    const open = scanned.filter(({ row }) => row === undefined);
    const gets = open.map(({ dataRow }) => this.getOf(dataRow));
    const found = gets.length === 0 ? [] : await rows.table.getAll(gets, options);
    this.size = fittingRows(this.size, found);
    const { key } = plan.spec.schema;
    if (key.dictionaries !== undefined) {
      await loadTexts([key], [...found, ...scanned.flatMap(({ row }) => (row as Result | undefined) ?? [])]);
    }
    const placed: (PositionedRow & { scanned: Uint8Array | undefined })[] = [];
    let next = 0;
    for (const { entry, dataRow, row: covered } of scanned) {
      const row = covered ?? found[next++]!;
      if (covered === undefined) countRow(options, row);
      const place = covered === undefined ? positions.of(row, entry) : entry;
      if (place === undefined || this.isAwaited(place, entry, dataRow)) continue;
      if (plan.rowTest !== undefined && !plan.rowTest(row)) continue;
      if (!returned.add(dataRow)) continue;
      this.awaited.delete(toLatin1(dataRow));
      points?.add(toLatin1(place));
      placed.push({ place, row, scanned: entry });
    }
    return placed;
  }

  /** Whether a row with several entries still has to be found by its first. Those never found so are read again at the end. */
  private isAwaited(place: Uint8Array, entry: Uint8Array | undefined, dataRow: Uint8Array): boolean {
    if (this.plan.use.path.index.several === undefined || entry === undefined) return false;
    if (this.positions.compare(place, entry) <= 0) return false;
    if (this.awaited.size < MAX_AHEAD) this.awaited.set(toLatin1(dataRow), dataRow);
    else this.lacks = true;
    return true;
  }

  private getOf(dataRow: Uint8Array): Get {
    const { plan, options } = this;
    const get = new Get(dataRow);
    // An unverified entry would cover the query if it were verified, so the row is read for the check alone.
    if (!plan.covered) applyReadSet(get, plan.read);
    applyHints(get, options);
    return get;
  }

  /** Rows that no entry has led to, or not the entry they were awaited by. */
  private async *lateRows(): AsyncGenerator<readonly ScannedEntry[]> {
    const awaited = [...this.awaited.values()];
    for (let i = 0; i < awaited.length; i += LARGEST_LOOKUP) {
      yield awaited
        .slice(i, i + LARGEST_LOOKUP)
        .map((dataRow) => ({ entry: undefined, dataRow, row: undefined }));
    }
    if (this.since === undefined || (this.moments.count <= 1 && !this.lacks)) return;
    const { parts, order, reversed } = this.reading;
    const ranges = rangesFrom(parts[0]!, order, reversed, this.position);
    const { concurrency } = this.options;
    if (this.points !== undefined) yield* this.pointsAgain(ranges, this.points);
    else
      for (let i = 0; i < ranges.length; i += concurrency) {
        yield* this.recent(ranges.slice(i, i + concurrency), this.since);
      }
  }

  /** Ranges of one entry that gave no row. */
  private async *pointsAgain(
    ranges: readonly KeyRange[],
    points: ReadonlySet<string>,
  ): AsyncGenerator<readonly ScannedEntry[]> {
    const { index } = this.plan.use.path;
    const open = ranges.filter(({ start }) => !points.has(toLatin1(start)));
    for (let i = 0; i < open.length; i += LARGEST_LOOKUP) {
      const gets = open.slice(i, i + LARGEST_LOOKUP).map(({ start }) => new Get(start));
      const found = await this.rows.indexing!.entries.table.getAll(gets, this.options);
      yield found.flatMap((result): ScannedEntry[] => {
        const value = result.getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
        if (value === undefined) return [];
        return [{ entry: undefined, dataRow: decodeEntry(index, result.row, value).dataRow, row: undefined }];
      });
    }
  }

  /** Entries that were written or removed since the query began, from some of the ranges in parallel. */
  private async *recent(ranges: readonly KeyRange[], since: number): AsyncGenerator<readonly ScannedEntry[]> {
    const { table } = this.rows.indexing!.entries;
    const scanners = ranges.map((range): ResultScanner => {
      const scan = scanOf(range, false)
        .setRaw(true)
        .addFamily(INDEX_FAMILY)
        .setTimeRange(since, LATEST_TIMESTAMP);
      applyHints(scan, this.options);
      applyScanHints(scan, this.options);
      return table.scan(scan, this.options);
    });
    try {
      for (let open = scanners; open.length > 0; ) {
        const batches = await Promise.all(open.map((scanner) => scanner.nextBatch(LARGEST_LOOKUP)));
        open = open.filter((_, i) => batches[i]!.length === LARGEST_LOOKUP);
        for (const batch of batches) yield this.newIn(batch);
      }
    } finally {
      await Promise.all(scanners.map((scanner) => scanner.close()));
    }
  }

  private newIn(entries: readonly Result[]): readonly ScannedEntry[] {
    const { index } = this.plan.use.path;
    const rows = new Map<string, Uint8Array>();
    for (const { row, cells } of entries) {
      // The delete of a unique entry does not name the row. The deleted put does, as long as it is stored.
      const put = index.unique ? cells.find(({ value }) => value.length > 0) : undefined;
      if (index.unique && put === undefined) continue;
      const dataRow = put === undefined ? dataRowOf(index, row) : decodeEntry(index, row, put.value).dataRow;
      if (!this.returned.has(dataRow)) rows.set(toLatin1(dataRow), dataRow);
    }
    return [...rows.values()].map((dataRow) => ({ entry: undefined, dataRow, row: undefined }));
  }

  async close(): Promise<void> {
    this.left = 0;
    await this.late?.return(undefined);
    await this.entries.close();
  }
}

export function countRow({ tally }: ReadOptions, row: Row): void {
  if (tally === undefined) return;
  tally.rows++;
  tally.bytes += valueBytes(row);
}

/** 32-bit words of a row's digest. */
const WORDS = 4;
const FIRST_ROOM = 64;
/** Rows in each of the two generations. */
const MAX_RETURNED = 1 << 20;

/**
 * The rows that a query has returned, by 128-bit digests with random seeds. Remembers the last one to two million
 * rows, in at most 64 MB, and forgets older ones.
 */
export class ReturnedRows {
  private readonly seeds = new Uint32Array(new Uint8Array(randomBytes(4 * WORDS)).buffer);
  private readonly digest = new Uint32Array(WORDS);
  private table = new Uint32Array(FIRST_ROOM * WORDS);
  private size = 0;
  private older: Uint32Array | undefined;

  constructor(private readonly most = MAX_RETURNED) {}

  has(row: Uint8Array): boolean {
    this.digestOf(row);
    return this.isIn(this.table) || (this.older !== undefined && this.isIn(this.older));
  }

  /** @returns false when the row was added before. */
  add(row: Uint8Array): boolean {
    if (this.has(row)) return false;
    if (this.size === this.most) {
      this.older = this.table;
      this.table = new Uint32Array(this.table.length);
      this.size = 0;
    } else if (2 * WORDS * this.size >= this.table.length) this.grow();
    this.table.set(this.digest, this.slotIn(this.table));
    this.size++;
    return true;
  }

  private digestOf(row: Uint8Array): void {
    for (let i = 0; i < WORDS; i++) this.digest[i] = murmur3InPlace(row, 0, row.length, this.seeds[i]!);
    // 0 marks an empty slot.
    this.digest[0] = this.digest[0]! | 1;
  }

  private isIn(table: Uint32Array): boolean {
    return table[this.slotIn(table)] !== 0;
  }

  /** The slot of the digest, or the empty slot for it. */
  private slotIn(table: Uint32Array): number {
    const { digest } = this;
    const slots = table.length / WORDS;
    for (let slot = digest[1]! & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      const at = slot * WORDS;
      if (table[at] === 0) return at;
      if (
        table[at] === digest[0] &&
        table[at + 1] === digest[1] &&
        table[at + 2] === digest[2] &&
        table[at + 3] === digest[3]
      ) {
        return at;
      }
    }
  }

  private grow(): void {
    const { table } = this;
    const room = new Uint32Array(table.length * 2);
    const kept = this.digest.slice();
    for (let at = 0; at < table.length; at += WORDS) {
      if (table[at] === 0) continue;
      this.digest.set(table.subarray(at, at + WORDS));
      room.set(this.digest, this.slotIn(room));
    }
    this.digest.set(kept);
    this.table = room;
  }
}
