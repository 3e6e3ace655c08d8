import { RowanError } from '../../errors.js';
import { LATEST_TIMESTAMP, type RowMutation, type RowMutations } from '../../table/index.js';
import { WrittenCells } from '../commit/commit-queue.js';
import { ownCopy, type PreparedRow } from '../commit/preparation.js';
import type { CellCursor } from '../cursor.js';
import type { ChunkPool } from '../memstore/arena.js';
import { Memstore } from '../memstore/memstore.js';
import { type FamilyStore, VersionSource } from '../region/region.js';
import type { FamilySource, ReadHint } from '../scan/store-read.js';
import type { TableState } from '../table-state.js';

/** Limits of a transaction: its commit is one turn of the event loop and one log record. */
const MAX_CHANGES = 200_000;
const MAX_BYTES = 64 << 20;

/** A change that the commit will make. */
export interface PrivateChange {
  readonly state: TableState;
  readonly change: RowMutation | RowMutations;
  readonly notBefore: number;
  readonly timestampsAssigned: boolean;
  /** The store's time when it was made, from which times to live count. */
  readonly madeAt: number;
}

export interface PrivateSavepoint {
  readonly changes: number;
  readonly cells: number;
  readonly bytes: number;
}

/**
 * The writes of a transaction before its commit, invisible to others: in private memstores, one for each family, which its reads merge
 * with the snapshot. Their cells have sequence numbers between the snapshot's and the next one, so that readers see them as
 * newer than the snapshot and older than every later write.
 */
export class PrivateWrites {
  readonly changes: PrivateChange[] = [];
  private readonly memstores = new Map<string, Memstore>();
  private readonly written = new WrittenCells();
  private bytes = 0;
  /** The sequence number of cells written now, and whether a reader has to be protected from later ones with this number. */
  private number: number;
  private seen = false;
  /** The least difference of two of its sequence numbers. */
  private readonly step: number;

  constructor(
    private readonly readPoint: number,
    private readonly spare: PrivateMemstores,
  ) {
    this.step = 2 ** (Math.ceil(Math.log2(readPoint + 2)) - 52);
    this.number = readPoint + this.step;
  }

  /** The read point of reads that see the snapshot and every own write so far. */
  get visible(): number {
    return this.number;
  }

  /** Like `visible`, for a reader that must not see later own writes. */
  snapshotPoint(): number {
    this.seen = true;
    return this.number;
  }

  has(state: TableState): boolean {
    const { memstores } = this;
    return (
      memstores.size > 0 && state.descriptor.families.some(({ name }) => memstores.has(keyOf(state, name)))
    );
  }

  /**
   * @param given the change that the commit will make. Undefined: none.
   * @throws RowanError `ERR_TOO_LARGE`; then the change is not made.
   */
  add(row: PreparedRow, given: PrivateChange | undefined): void {
    const { state } = row;
    let bytes = 0;
    for (const cell of row.cells) bytes += row.row.length + cell.qualifier.length + cell.value.length;
    if (this.changes.length >= MAX_CHANGES || this.bytes + bytes > MAX_BYTES) throw tooLarge();
    this.advance(state);
    for (let i = 0; i < row.cells.length; i++) {
      const { family, qualifier, timestamp, type, value } = row.cells[i]!;
      const memstore = this.memstoreOf(state, family);
      const time = timestamp === LATEST_TIMESTAMP ? row.now : timestamp;
      const ttl = row.ttls ? row.ttls[i]! : row.ttl;
      this.written.add(memstore, memstore.add(row.row, qualifier, time, type, this.number, ttl, value));
    }
    this.bytes += bytes;
    if (given !== undefined) this.changes.push({ ...given, change: ownCopy(given.change) });
  }

  savepoint(): PrivateSavepoint {
    // Later writes must not replace cells that a rollback has to restore.
    this.seen = true;
    return { changes: this.changes.length, cells: this.written.count, bytes: this.bytes };
  }

  rollbackTo({ changes, cells, bytes }: PrivateSavepoint): void {
    this.written.rollbackTo(cells, Number.POSITIVE_INFINITY);
    this.changes.length = changes;
    this.bytes = bytes;
  }

  /** A family of the snapshot, merged with what was written to it. */
  over(state: TableState, store: FamilyStore): FamilySource {
    const own = this.memstores.get(keyOf(state, store.descriptor.name));
    if (own === undefined) return store;
    const { descriptor, known } = store;
    return { descriptor, known, openCursors: (hint) => opened(store.openCursors(hint), own) };
  }

  /** Like `over`, retained for a scan. */
  held(state: TableState, store: FamilyStore): VersionSource {
    const own = this.memstores.get(keyOf(state, store.descriptor.name));
    const { descriptor, known } = store;
    const version = store.version.retain();
    return own === undefined
      ? new VersionSource(descriptor, version, known)
      : new WrittenSource(descriptor, version, known, own);
  }

  free(): void {
    for (const memstore of this.memstores.values()) this.spare.give(memstore);
    this.memstores.clear();
    this.changes.length = 0;
  }

  /** Families in which the order of writes counts (NEW_VERSION_BEHAVIOR) need a number for each write. */
  private advance(state: TableState): void {
    if (!this.seen && !state.descriptor.families.some(({ newVersionBehavior }) => newVersionBehavior)) return;
    const next = this.number + this.step;
    if (next >= this.readPoint + 1) throw tooLarge();
    this.number = next;
    this.seen = false;
  }

  private memstoreOf(state: TableState, family: string): Memstore {
    const key = keyOf(state, family);
    let memstore = this.memstores.get(key);
    if (memstore === undefined) {
      memstore = this.spare.take();
      this.memstores.set(key, memstore);
    }
    return memstore;
  }
}

class WrittenSource extends VersionSource {
  constructor(
    descriptor: VersionSource['descriptor'],
    version: VersionSource['version'],
    known: VersionSource['known'],
    private readonly own: Memstore,
  ) {
    super(descriptor, version, known);
  }

  override get emptyRanges(): undefined {
    return undefined;
  }

  override openCursors(hint: ReadHint): CellCursor[] {
    return opened(super.openCursors(hint), this.own);
  }
}

function opened(cursors: CellCursor[], own: Memstore): CellCursor[] {
  const cursor = own.cursor();
  cursor.order = cursors.length;
  cursors.push(cursor);
  return cursors;
}

function keyOf(state: TableState, family: string): string {
  return `${state.id}:${family}`;
}

function tooLarge(): RowanError {
  return new RowanError(
    'ERR_TOO_LARGE',
    `A transaction may make at most ${MAX_CHANGES} changes with ${MAX_BYTES} bytes in total, because it is committed in one step. ` +
      'Split it into several transactions, or write with putMany or a job.',
  );
}

/** The most memstores that are kept, each with some 25 KiB. */
const MAX_SPARE = 16;

/**
 * Memstores of transactions. Those that stayed small are used again: to make one takes several times as long as to write the few cells of
 * most transactions.
 */
export class PrivateMemstores {
  private readonly spare: Memstore[] = [];

  constructor(private readonly pool: ChunkPool) {}

  /** An empty memstore, to be given back. */
  take(): Memstore {
    return this.spare.pop() ?? new Memstore(this.pool).retain();
  }

  /** Takes back a memstore that nobody reads any more. */
  give(memstore: Memstore): void {
    if (this.spare.length < MAX_SPARE && memstore.reset()) this.spare.push(memstore);
    else memstore.release();
  }
}
