import { CorruptionError } from '../errors.js';
import type { RowClock } from './commit/row-clock.js';
import {
  CLOCK_TABLE,
  type RecordedCell,
  WriteRecordReader,
  type WriteRecordSink,
} from './commit/write-record.js';
import { joinPath, walFileName } from './fs/index.js';
import type { Memstore } from './memstore/memstore.js';
import { type FamilyStore, regionOf } from './region/region.js';
import type { TableState } from './table-state.js';
import type { WalRecord } from './wal/index.js';

/** Bytes of the log that are replayed in one turn of the event loop, at most an eighth of the memory that they may take. */
export function bytesOfTurn(memoryLimit: number): number {
  return Math.min(1 << 20, Math.ceil(memoryLimit / 8));
}

/** Applies the writes of the log to the memstores of their tables. */
export class Replay implements WriteRecordSink {
  /** Records are only checked, and their clock and sequence numbers noted. */
  checksOnly = false;
  private firstSeq = 0;
  private table: TableState | undefined;
  private readonly families = new Map<number, Map<number, string>>();

  private readonly tables: ReadonlyMap<number, TableState>;
  private unknown = false;
  private readonly reader = new WriteRecordReader();
  /** The table and family of the last cell. */
  private tableId = 0;
  private family = 0;
  private store: FamilyStore | undefined;
  /** The table has one region, so every row of it goes to `store`. */
  private singleRegion = false;
  private readonly filled = new Set<Memstore>();

  constructor(
    private readonly directory: string,
    tables: readonly TableState[],
    private readonly rowClock: RowClock,
    /** The first number that was never assigned to a table or family. */
    private readonly nextId: number,
    /** The greatest sequence number seen. */
    public lastSeq: number,
    /** The memstores hold cells already, and are being read. */
    private readonly continues = false,
  ) {
    this.tables = new Map(tables.map((table) => [table.id, table]));
  }

  /** @throws CorruptionError when the record cannot be decoded, or names a table that was never created. */
  apply(record: WalRecord): void {
    this.firstSeq = record.firstSeq;
    let mutations: number;
    try {
      const { payload, offset, length } = record;
      mutations = this.reader.read(payload, this, offset, offset + length);
    } catch (cause) {
      throw this.corruption(
        record,
        'has a valid checksum but invalid content. Nothing was changed. Restore the store from a copy, and report this.',
        cause,
      );
    }
    if (this.unknown) {
      throw this.corruption(
        record,
        'is of a table or family that the MANIFEST never named: the end of the MANIFEST is lost. Nothing was changed. ' +
          'Restore the store from a copy, or save what is sound with `rowan store repair`.',
      );
    }
    this.lastSeq = Math.max(this.lastSeq, record.firstSeq + mutations - 1);
  }

  /** Sorts what was loaded into memstores with many new cells, so that the end does not sort all of them in one turn. */
  sortMany(): void {
    for (const memstore of this.filled) memstore.sortMany();
  }

  /** Sorts what was loaded. Called after the last record, and before anything else reads or freezes the memstores. */
  finish(): void {
    for (const memstore of this.filled) memstore.sortLoaded();
    this.filled.clear();
    // Regions may change until the next record.
    this.tableId = 0;
    this.store = undefined;
  }

  /** Bytes of the memstores that it has loaded cells into since the last {@link finish}. */
  get bytes(): number {
    let bytes = 0;
    for (const memstore of this.filled) bytes += memstore.bytes;
    return bytes;
  }

  private corruption(record: WalRecord, what: string, cause?: unknown): CorruptionError {
    const file = joinPath(this.directory, walFileName(record.segment));
    return new CorruptionError(`The record at byte ${record.fileOffset} of the log "${file}" ${what}`, {
      cause,
      details: { file, offset: record.fileOffset },
    });
  }

  cell(cell: RecordedCell): void {
    const { table, family } = cell;
    if (table === CLOCK_TABLE) {
      this.rowClock.restore(cell.timestamp);
      return;
    }
    // The cells of a row are adjacent, and mostly of one family.
    const sameStore = family === this.family && table === this.tableId;
    const sameRow = sameStore && cell.sameRow;
    if (!sameRow && !(sameStore && this.singleRegion)) {
      this.tableId = table;
      this.family = family;
      this.store = this.storeOf(table, cell);
    }
    const { store } = this;
    const seq = this.firstSeq + cell.mutation;
    if (store === undefined || seq <= store.flushedSeq || this.checksOnly) return;
    const { active } = store.version;
    if (this.continues) this.addTo(store, cell, seq);
    else if (active.load(cell, seq, sameRow)) this.filled.add(active);
  }

  private addTo(store: FamilyStore, cell: RecordedCell, seq: number): void {
    if (store.version.active.isFull) store.freeze();
    const { row, qualifier, timestamp, type, ttl, value } = cell;
    store.version.active.add(row, qualifier, timestamp, type, seq, ttl, value);
  }

  /** The family that a cell belongs to; undefined if its table or family was deleted after the write. */
  private storeOf(tableId: number, cell: RecordedCell): FamilyStore | undefined {
    this.singleRegion = false;
    if (this.table?.id !== tableId) this.table = this.tables.get(tableId);
    this.unknown ||= tableId >= this.nextId || cell.family >= this.nextId;
    const family = this.table && this.familyName(this.table, cell.family);
    if (!this.table || family === undefined) return undefined;
    const { regions } = this.table;
    this.singleRegion = regions.length === 1;
    return regionOf(regions, cell.row).byFamily.get(family);
  }

  private familyName(table: TableState, number: number): string | undefined {
    let names = this.families.get(table.id);
    if (!names) {
      names = new Map([...table.familyNumbers].map(([name, id]) => [id, name]));
      this.families.set(table.id, names);
    }
    return names.get(number);
  }
}
