import { compareBytes } from '../../bytes/index.js';
import { CellType, type ColumnPuts, type PackedPuts } from '../../table/index.js';
import { type CellBytes, RowCells } from '../memstore/arena.js';
import type { Memstore } from '../memstore/memstore.js';
import { type FamilyStore, type Region, regionOf } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { EffectiveDurability, WrittenCells } from './commit-queue.js';
import { cellHead, type WriteRecordBuilder } from './write-record.js';

/** Rows of a batch, one after the other, that belong to one region. */
interface BatchPart {
  readonly region: Region;
  rows: number;
  /** Bytes of their values. */
  bytes: number;
}

/** Puts of many rows that are prepared, applied and logged together, without an object for each. */
export abstract class PutBatch {
  /** Filled when the cells are added to the memstores. */
  readonly parts: BatchPart[] = [];

  constructor(
    readonly state: TableState,
    readonly durability: EffectiveDurability,
    /** The timestamp of each row. */
    protected readonly times: readonly number[],
  ) {}

  /** The number of rows. */
  get count(): number {
    return this.times.length;
  }

  /** Adds the cells to the memstores. `seq`: the sequence number of the first row. */
  abstract apply(seq: number, written: WrittenCells): void;

  /** Adds the rows to the log record. */
  abstract record(builder: WriteRecordBuilder): void;

  /** The part that the next row, of this region, belongs to. */
  protected partOf(region: Region): BatchPart {
    const last = this.parts.at(-1);
    if (last?.region === region) return last;
    const part = { region, rows: 0, bytes: 0 };
    this.parts.push(part);
    return part;
  }
}

/** Puts to one column: each row adds only its value. */
export class SortedPutBatch extends PutBatch {
  constructor(
    state: TableState,
    private readonly family: string,
    private readonly qualifier: Uint8Array,
    durability: EffectiveDurability,
    /** Sorted; of equal rows the one that was put later comes later. */
    private readonly rows: readonly Uint8Array[],
    private readonly values: readonly Uint8Array[],
    times: readonly number[],
  ) {
    super(state, durability, times);
  }

  apply(seq: number, written: WrittenCells): void {
    const { state, family, qualifier, rows, values, times } = this;
    let end: Uint8Array | undefined;
    let store: FamilyStore | undefined;
    let part: BatchPart | undefined;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      const value = values[i]!;
      if (end === undefined || (end.length > 0 && compareBytes(row, end) >= 0)) {
        const region = regionOf(state.regions, row);
        end = region.endKey;
        store = region.byFamily.get(family)!;
        part = this.partOf(region);
      }
      const memstore = memstoreFor(store!);
      written.add(memstore, memstore.add(row, qualifier, times[i]!, CellType.Put, seq + i, 0, value));
      part!.rows++;
      part!.bytes += value.length;
    }
  }

  record(builder: WriteRecordBuilder): void {
    const { state, family, qualifier, rows, values, times } = this;
    const familyNumber = state.familyNumbers.get(family)!;
    for (let i = 0; i < rows.length; i++) {
      builder.beginMutation(state.id, rows[i]!, 1);
      builder.cell(familyNumber, qualifier, times[i]!, CellType.Put, 0, values[i]!);
    }
  }
}

/** Packed puts, in their order. */
export class PackedPutBatch extends PutBatch {
  constructor(
    state: TableState,
    private readonly puts: PackedPuts,
    durability: EffectiveDurability,
    times: readonly number[],
  ) {
    super(state, durability, times);
  }

  /** Whether the table takes each of the puts: its families exist, and its cells are not too large. */
  static isAccepted(
    state: TableState,
    { columns, rows, rowEnds, cells, valueEnds, cellCount, start }: PackedPuts,
  ): boolean {
    const known = columns.map(({ family }) => state.familyNumbers.has(family));
    // Mostly all values together are smaller than a cell may be.
    let most = cellCount === 0 ? 0 : valueEnds[cellCount - 1]! - start;
    most += rows.reduce((length, row) => Math.max(length, row.length), 0);
    most += columns.reduce((length, { qualifier }) => Math.max(length, qualifier.length), 0);
    if (state.takes(most) && !known.includes(false)) return true;
    let cell = 0;
    let from = start;
    for (let i = 0; i < rows.length; i++) {
      const rowLength = rows[i]!.length;
      for (; cell < rowEnds[i]!; cell++) {
        const column = cells[cell]!;
        const end = valueEnds[cell]!;
        const bytes = rowLength + columns[column]!.qualifier.length + end - from;
        if (!known[column] || !state.takes(bytes)) return false;
        from = end;
      }
    }
    return true;
  }

  apply(seq: number, written: WrittenCells): void {
    const { state, times } = this;
    const { columns, rows, rowEnds, cells, valueEnds, bytes } = this.puts;
    const ranks = ranksOf(columns);
    written.reserve(this.puts.cellCount);
    const run = new RowCells(
      columns.map(({ qualifier }) => qualifier),
      cells,
      valueEnds,
      bytes,
    );
    run.from = this.puts.start;
    let stores: readonly FamilyStore[] = [];
    let part: BatchPart | undefined;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      const region = regionOf(state.regions, row);
      if (part?.region !== region) {
        part = this.partOf(region);
        stores = columns.map(({ family }) => region.byFamily.get(family)!);
      }
      run.row = row;
      run.timestamp = times[i]!;
      run.seq = seq + i;
      const before = run.from;
      let store: FamilyStore | undefined;
      let memstore: Memstore | undefined;
      for (const end = rowEnds[i]!; run.end < end; ) {
        run.first = run.end;
        const own = stores[cells[run.first]!]!;
        let last = cells[run.end++]!;
        for (; run.end < end && stores[cells[run.end]!] === own; run.end++) {
          const column = cells[run.end]!;
          if (ranks[column]! <= ranks[last]!) break;
          last = column;
        }
        const sameFamily = own === store;
        if (!sameFamily) {
          store = own;
          memstore = memstoreFor(own);
        }
        memstore!.addRow(run, sameFamily);
        written.addAll(memstore!, run.refs, run.count);
        run.from = valueEnds[run.end - 1]!;
      }
      part.rows++;
      part.bytes += run.from - before;
    }
  }

  record(builder: WriteRecordBuilder): void {
    const { state, times } = this;
    const { columns, rows, rowEnds, cells, valueEnds, bytes } = this.puts;
    const numbers = columns.map(({ family }) => state.familyNumbers.get(family)!);
    const values = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let cell = 0;
    let from = this.puts.start;
    /** What the cells of each column begin with. */
    let heads: readonly Uint8Array[] = [];
    let time = -1;
    for (let i = 0; i < rows.length; i++) {
      if (times[i] !== time) {
        time = times[i]!;
        heads = columns.map(({ qualifier }, column) => cellHead(numbers[column]!, qualifier, time));
      }
      const end = rowEnds[i]!;
      builder.beginMutation(state.id, rows[i]!, end - cell);
      for (; cell < end; cell++) {
        const to = valueEnds[cell]!;
        builder.putCell(heads[cells[cell]!]!, values, from, to - from);
        from = to;
      }
    }
  }
}

/** For each column, its place in the order of qualifiers. */
function ranksOf(columns: PackedPuts['columns']): readonly number[] {
  const order = columns
    .map((_, column) => column)
    .sort((a, b) => compareBytes(columns[a]!.qualifier, columns[b]!.qualifier));
  const ranks: number[] = [];
  for (let place = 0; place < order.length; place++) ranks[order[place]!] = place;
  return ranks;
}

/** Puts to one column in one buffer, in any order: the memstores sort them when they are read. */
export class ColumnPutBatch extends PutBatch {
  constructor(
    state: TableState,
    private readonly puts: ColumnPuts,
    durability: EffectiveDurability,
    times: readonly number[],
  ) {
    super(state, durability, times);
  }

  /** Whether the table takes each of the puts: its family exists, and its cells are not too large. */
  static isAccepted(state: TableState, puts: ColumnPuts): boolean {
    if (!state.familyNumbers.has(puts.family)) return false;
    const { qualifier, valueEnds } = puts;
    for (let i = 0; i < puts.count; i++)
      if (!state.takes(qualifier.length + valueEnds[i]! - puts.startOf(i))) return false;
    return true;
  }

  apply(seq: number, written: WrittenCells): void {
    const { state, puts, times } = this;
    const { regions } = state;
    const cell = new ColumnCell(puts);
    let part: BatchPart | undefined;
    let store: FamilyStore | undefined;
    for (let i = 0; i < times.length; i++) {
      const region = regions.length === 1 ? regions[0]! : regionOf(regions, puts.rowAt(i));
      if (part?.region !== region) {
        part = this.partOf(region);
        store = region.byFamily.get(puts.family)!;
      }
      cell.moveTo(i, times[i]!);
      const memstore = memstoreFor(store!);
      written.add(memstore, memstore.addUnsorted(cell, seq + i));
      part.rows++;
      part.bytes += cell.valueLength;
    }
  }

  record(builder: WriteRecordBuilder): void {
    const { state, puts, times } = this;
    const { qualifier, bytes, rowEnds, valueEnds } = puts;
    const family = state.familyNumbers.get(puts.family)!;
    let from = puts.startOf(0);
    for (let i = 0; i < times.length; i++) {
      const end = rowEnds[i]!;
      const to = valueEnds[i]!;
      builder.beginMutation(state.id, bytes, 1, from, end - from);
      builder.cell(family, qualifier, times[i]!, CellType.Put, 0, bytes, end, to - end);
      from = to;
    }
  }
}

/** One of the puts, as a cell in their buffer. */
class ColumnCell implements CellBytes {
  readonly type = CellType.Put;
  readonly ttl = 0;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly qualifierOffset = 0;
  readonly qualifierLength: number;
  timestamp = 0;
  rowOffset = 0;
  rowLength = 0;
  valueOffset = 0;
  valueLength = 0;

  constructor(private readonly puts: ColumnPuts) {
    const { bytes, qualifier } = puts;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.qualifierLength = qualifier.length;
  }

  moveTo(put: number, timestamp: number): void {
    const { puts } = this;
    const end = puts.rowEnds[put]!;
    this.timestamp = timestamp;
    this.rowOffset = puts.startOf(put);
    this.rowLength = end - this.rowOffset;
    this.valueOffset = end;
    this.valueLength = puts.valueEnds[put]! - end;
  }
}

/** The memstore that takes the next cell. */
export function memstoreFor(store: FamilyStore): Memstore {
  // A memstore addresses its cells by 32-bit numbers; a full one is frozen, and the next begins.
  if (store.version.active.isFull) store.freeze();
  return store.version.active;
}
