import type { RowanError } from '../../errors.js';
import type { Durability } from '../../table/index.js';
import { invariant } from '../environment.js';
import type { CellRef } from '../memstore/arena.js';
import type { Memstore } from '../memstore/memstore.js';
import type { LogObserver } from '../wal/index.js';

/** The part of the write-ahead log that the queue uses. */
export interface CommitLog {
  /** Called with everything that happens to the records. */
  observer: LogObserver | undefined;
  /** Schedules a write of the staged records. Callers of one turn share it. */
  requestWrite(): void;
  /** Schedules a sync of the staged records. Callers share it where possible. */
  requestSync(): void;
  /** Writes the staged records now and begins their sync, unless one is running. Losses are reported to the observer. */
  beginSync(): void;
  /** Ends the log for good: it has a record that memory has not. */
  fail(cause: unknown): void;
  /** Why the log can write nothing any more; undefined while it can. */
  readonly poisoned: RowanError | undefined;
}

/** Whether the store accepts changes. */
export interface CommitHealth {
  /** @throws RowanError `ERR_READONLY`. */
  checkWritable(): void;
}

export type EffectiveDurability = Exclude<Durability, 'USE_DEFAULT'>;

/**
 * What happens to an entry of the queue when an earlier write is lost. `reject`: it fails too; for writes, and for answers that
 * depend on earlier writes. `wait`: it waits on until every remaining write before it is decided. `stay`: the same, and
 * it keeps its own number. When the log has failed for good, all of them are rejected.
 */
type OnLoss = 'reject' | 'wait' | 'stay';

class Waiting {
  resolve: () => void = noOperation;
  reject: (error: unknown) => void = noOperation;
  /** Whether its record is in the log: of a write in progress, before all of its cells are in memory. */
  isLogged = false;

  constructor(
    /** At least the number of the entries before it. Of a write in progress: the first number that it may get. */
    public seq: number,
    /** Undefined for a write in progress, which is not in the log yet, and for a load whose files are not recorded yet. */
    public durability: EffectiveDurability | undefined,
    readonly onLoss: OnLoss,
    readonly cells: WrittenCells | undefined,
    /** Cells whose older versions are dropped once the write is visible. */
    readonly upserts: WrittenCells | undefined,
  ) {}
}

/** A write or bulk load that has entered the queue and is not committed yet. */
export type BegunWrite = Waiting;

function noOperation(): void {}

/** Whether a write of this durability waits for the disk. */
export function isSynced(durability: EffectiveDurability): boolean {
  return durability === 'FSYNC_WAL' || durability === 'SYNC_WAL';
}

/**
 * The commit queue decides when writes become visible and when they are acknowledged (HBase's
 * `MultiVersionConcurrencyControl`, R78, R87). It owns all writes that are in the memstores and not acknowledged yet.
 *
 * A write passes these steps, all in one turn of the event loop:
 *
 *     begin         it enters the queue, before its first cell is in a memstore
 *     (the writer)  its cells are added to the memstores; it is numbered and appended to the log
 *     commit        it waits in the queue for the durability that it requested
 *
 * A synced write of many rows goes to the log first: its sync begins, and in the same turn its cells are added, while the disk works
 * ({@link CommitQueue.commit}).
 *
 * The log calls the queue when records have reached the operating system or the disk, or are lost. Invariants (C7 is that of flushes,
 * `background/family-work.ts`):
 *
 * C1. Writes get sequence numbers in the order in which they enter the log, and stand in the queue in that order.
 * C2. The read point never passes a waiting write. So no reader sees a write that a crash could undo, or a write of lower
 *     durability before an earlier one of higher durability.
 * C3. A write is acknowledged after the read point has reached it: who has the acknowledgement sees the write.
 * C4. When the log loses a write, exactly the cells of that write and of all later ones are removed from memory, the newest
 *     first, in the turn of the loss and before any of their promises is rejected. Later writes go too because they may depend on
 *     the lost one: an increment of its counter, a check of its row. A write whose own append lost earlier writes is
 *     not appended.
 * C5. Waiting writes are rejected with the cause, in their order. An answer that depends on a write that is rolled back (a check
 *     that did not match) is rejected with it.
 * C6. After a failed sync nothing is acknowledged any more.
 * C8. A bulk load has one place in the order of commits: it waits in the queue from its numbering until its files are visible
 *     ({@link CommitQueue.beginLoad}), and no write is numbered meanwhile. So writes with a lower number have not seen the load,
 *     and writes with a higher number have.
 */
export class CommitQueue implements LogObserver {
  /** The sequence number of the last write. */
  lastSeq: number;
  /** Readers see writes up to this number. */
  readPoint: number;
  /** How many times the log has lost records. */
  losses = 0;
  private waiting: Waiting[] = [];
  /** The write that is in progress in this turn. */
  private begun: BegunWrite | undefined;
  /** How many bulk loads are being recorded. */
  private loads = 0;
  /** The index in `waiting` of the first entry that is not acknowledged. */
  private head = 0;
  /** Records up to these numbers have reached the operating system, are covered by the running sync, and are on the disk. */
  private writtenSeq: number;
  private syncingSeq: number;
  private syncedSeq: number;

  constructor(
    private readonly log: CommitLog,
    private readonly health: CommitHealth,
    lastSeq: number,
    /** The smallest read point among the open reads of a memstore. */
    private readonly smallestIn: (memstore: Memstore) => number,
  ) {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
    this.writtenSeq = lastSeq;
    this.syncingSeq = lastSeq;
    this.syncedSeq = lastSeq;
    log.observer = this;
  }

  /** Whether a write is in progress in this turn. Its numbers are not assigned yet, so no other write may begin. */
  get isWriting(): boolean {
    return this.begun !== undefined;
  }

  /** Assigns the numbers of `count` writes, and returns the first. */
  allocate(count: number): number {
    invariant(this.loads === 0, 'C8');
    return this.assign(count);
  }

  private assign(count: number): number {
    const first = this.lastSeq + 1;
    this.lastSeq += count;
    return first;
  }

  /**
   * Adds a write to the queue, in the turn in which it is made and before any of its cells is in memory. `cells` and `upserts`
   * are filled while it is made. It ends with {@link commit} or {@link abort}.
   */
  begin(cells: WrittenCells, upserts: WrittenCells | undefined): BegunWrite {
    invariant(this.begun === undefined, 'C1');
    this.begun = new Waiting(this.lastSeq + 1, undefined, 'reject', cells, upserts);
    this.enqueue(this.begun);
    return this.begun;
  }

  /**
   * Commits a write whose last number is `seq` and which is in the log and the memstores. Resolves when the write is visible; for
   * a write without cells, when all writes before it are. `add`, for synced writes: adds the cells, which are not in the memstores yet,
   * once the sync of the record has begun.
   * @throws the log's error when the write is lost: then it was rolled back.
   */
  commit(write: BegunWrite, seq: number, durability: EffectiveDurability, add?: () => void): Promise<void> {
    invariant(this.begun === write, 'C4');
    const { waiting } = this;
    // Entries that were added while the write was made wait for all of it.
    for (let i = waiting.length - 1; waiting[i] !== write; i--) waiting[i]!.seq = seq;
    write.seq = seq;
    const done = new Promise<void>((resolve, reject) => {
      write.resolve = resolve;
      write.reject = reject;
    });
    if (add !== undefined && !this.addWhileSyncing(write, add)) return done;
    write.durability = durability;
    this.begun = undefined;
    // The log may have written the record already, to make room in its buffer.
    if (!isSynced(durability) && this.isDone(write)) this.advance();
    else if (durability === 'ASYNC_WAL') this.log.requestWrite();
    else if (seq > this.syncingSeq) this.log.requestSync();
    return done;
  }

  /** False: the write is lost, and rejected. */
  private addWhileSyncing(write: BegunWrite, add: () => void): boolean {
    write.isLogged = true;
    this.log.beginSync();
    if (this.begun !== write) return false;
    try {
      add();
      return true;
    } catch (error) {
      // The next opening would find a record of a rejected write, and later records of writes that did not see it.
      this.log.fail(error);
      return false;
    }
  }

  /** Removes a write that is not in the log. Entries after it, which depend on it, are rejected with `error`. */
  abort(write: BegunWrite, error: unknown): void {
    if (this.begun !== write) return;
    // Its numbers are assigned again, unless the log refused them.
    write.cells!.rollbackTo(0, write.seq - 1);
    this.rollback(this.waiting.lastIndexOf(write), error, false);
  }

  /** Resolves when every write so far is acknowledged: for an answer that depends on them. @throws when one is lost. */
  async awaitPrior(): Promise<void> {
    if (this.head < this.waiting.length) await this.barrier('reject');
  }

  /** Resolves when every write so far is acknowledged or rolled back. @throws when that will never be known. */
  async awaitDecided(): Promise<void> {
    this.health.checkWritable();
    if (this.head === this.waiting.length) return;
    // The caller waits to free memory or to copy files, so writes of lower durability are synced now, too.
    this.log.requestSync();
    await this.barrier('wait');
  }

  /**
   * Assigns a number to a bulk load whose files are about to be recorded. No later write is visible before it. It ends with
   * {@link commitLoad} or {@link abortLoad}; until then no write may be numbered.
   */
  beginLoad(): BegunWrite {
    const load = new Waiting(this.assign(1), undefined, 'stay', undefined, undefined);
    this.loads++;
    this.enqueue(load);
    return load;
  }

  /** Called in the turn in which the load's files become part of the store. Resolves when readers see them. */
  commitLoad(load: BegunWrite): Promise<void> {
    invariant(this.waiting.includes(load), 'C8');
    this.loads--;
    load.durability = 'SKIP_WAL';
    const done = new Promise<void>((resolve, reject) => {
      load.resolve = resolve;
      load.reject = reject;
    });
    this.advance();
    return done;
  }

  /** The files were not recorded, or it is unknown whether they were. */
  abortLoad(load: BegunWrite): void {
    this.loads--;
    const at = this.waiting.lastIndexOf(load);
    if (at >= this.head) this.waiting.splice(at, 1);
    if (!this.log.poisoned) this.advance();
  }

  /** Called when a split or merge of regions has copied cells to other memstores. */
  moved(cells: MovedCells): void {
    for (let i = this.head; i < this.waiting.length; i++) {
      this.waiting[i]!.cells?.relocate(cells);
      this.waiting[i]!.upserts?.relocate(cells);
    }
  }

  /** From the log: records up to `seq` are with the operating system. */
  recordsWritten(seq: number): void {
    if (seq <= this.writtenSeq) return;
    this.writtenSeq = seq;
    this.advance();
  }

  /** From the log: a sync begins. */
  syncBegins(): void {
    this.syncingSeq = this.writtenSeq;
  }

  /** From the log: the sync has ended. `everything`: it also covers what was written while it ran. */
  syncEnded(everything: boolean): void {
    this.syncedSeq = Math.max(this.syncedSeq, everything ? this.writtenSeq : this.syncingSeq);
    this.advance();
  }

  /** From the log: the staged records are lost; written ones are not. */
  onBatchFailed(error: unknown): void {
    this.losses++;
    const { waiting } = this;
    let first = waiting.length;
    while (first > this.head && waiting[first - 1]!.seq > this.writtenSeq) first--;
    while (first < waiting.length && waiting[first]!.durability === 'SKIP_WAL') first++;
    // A write in progress is not in the log: the writer learns from its own append whether it can be.
    if (this.begun !== undefined && waiting[first] === this.begun && !this.begun.isLogged) return;
    this.rollback(first, error, false);
  }

  /** From the log: it is unknown what is on the disk, or nothing can be written there any more. */
  onLogFailed(error: unknown): void {
    this.rollback(this.head, error, true);
  }

  private inOrder(seq: number): number {
    const last = this.waiting[this.waiting.length - 1];
    return last && last.seq > seq ? last.seq : seq;
  }

  private barrier(onLoss: OnLoss): Promise<void> {
    return this.wait(new Waiting(this.inOrder(this.readPoint), 'SKIP_WAL', onLoss, undefined, undefined));
  }

  private wait(entry: Waiting): Promise<void> {
    this.enqueue(entry);
    return new Promise((resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = reject;
    });
  }

  private enqueue(entry: Waiting): void {
    invariant(this.waiting.length === this.head || entry.seq >= this.waiting.at(-1)!.seq, 'C1');
    this.waiting.push(entry);
  }

  private isDone({ durability, seq }: Waiting): boolean {
    if (durability === undefined) return false;
    if (durability === 'SKIP_WAL') return true;
    return seq <= (durability === 'ASYNC_WAL' ? this.writtenSeq : this.syncedSeq);
  }

  /** Acknowledges the entries at the front that have reached their durability. */
  private advance(): void {
    const { waiting, head } = this;
    let end = head;
    while (end < waiting.length && this.isDone(waiting[end]!)) end++;
    if (end === head) return;
    invariant(!this.log.poisoned, 'C6');
    this.readPoint = Math.max(this.readPoint, waiting[end - 1]!.seq);
    this.head = end;
    invariant(
      end === waiting.length || !waiting[end]!.cells?.count || waiting[end]!.seq > this.readPoint,
      'C2',
    );
    for (let i = end - 1; i >= head; i--) waiting[i]!.upserts?.dropOlder(this.smallestIn);
    for (let i = head; i < end; i++) {
      invariant(waiting[i]!.seq <= this.readPoint, 'C3');
      waiting[i]!.resolve();
    }
    if (end === waiting.length) {
      this.waiting = [];
      this.head = 0;
    } else if (end > 1024 && end * 2 > waiting.length) {
      this.waiting = waiting.slice(end);
      this.head = 0;
    }
  }

  /** Rolls back all entries from `first` on. `forGood`: the log has failed for good. */
  private rollback(first: number, error: unknown, forGood: boolean): void {
    const lost = this.waiting.splice(first);
    if (this.begun !== undefined && lost.includes(this.begun)) this.begun = undefined;
    for (let i = lost.length - 1; i >= 0; i--) lost[i]!.cells?.rollback();
    let before = 0;
    for (const entry of lost) {
      if (entry.onLoss !== 'reject' && !forGood) {
        // Earlier writes may still be waiting; the numbers of the lost ones must not be passed.
        if (entry.onLoss === 'wait') entry.seq = this.inOrder(this.readPoint);
        this.waiting.push(entry);
        continue;
      }
      invariant(entry.onLoss !== 'reject' || entry.seq > this.readPoint || !entry.cells?.count, 'C4');
      invariant(entry.seq >= before && (entry.onLoss === 'reject' || !entry.cells), 'C5');
      before = entry.seq;
      entry.reject(error);
    }
    this.advance();
  }
}

// — The positions of a write's cells in memory, for rolling them back, or dropping older versions once they are visible.

/** Cells that a split or merge of regions has copied to other memstores. */
export type MovedCells = Map<Memstore, Map<CellRef, { readonly memstore: Memstore; readonly ref: CellRef }>>;

const MAX_RESERVED = 1 << 20;

/** Cells in the order in which they were added, grouped into runs of one memstore. */
export class WrittenCells {
  private memstores: Memstore[] = [];
  /** The index in `refs` at which the run of each memstore begins. */
  private starts: number[] = [];
  /** Cells from `count` on have no meaning. */
  private refs: CellRef[] = [];
  count = 0;

  /** Makes room for so many cells, if there are none yet and they are not very many: then the list grows as they come. */
  reserve(count: number): void {
    if (this.count === 0 && count <= MAX_RESERVED) this.refs = new Array(count);
  }

  add(memstore: Memstore, ref: CellRef): void {
    if (this.count === 0) {
      this.memstores = [memstore];
      this.starts = [0];
      // Most writes have one cell; a growing array would reserve space for many.
      if (this.refs.length === 0) {
        this.refs = [ref];
        this.count = 1;
        return;
      }
    } else if (memstore !== this.memstores[this.memstores.length - 1]) {
      this.memstores.push(memstore);
      this.starts.push(this.count);
    }
    this.refs[this.count++] = ref;
  }

  /** Adds the first `count` of the cells, all of one memstore. */
  addAll(memstore: Memstore, refs: Uint32Array, count: number): void {
    this.add(memstore, refs[0]!);
    for (let i = 1; i < count; i++) this.refs[this.count++] = refs[i]!;
  }

  /** Removes all cells from memory, the newest first. Memstores of dropped tables and families are freed and skipped. */
  rollback(): void {
    this.backwards((memstore, ref) => memstore.rollback(ref));
  }

  /** Removes the cells after the first `count` from memory, the newest first: the cells of writes after `lastSeq`. */
  rollbackTo(count: number, lastSeq: number): void {
    while (this.count > count) {
      const run = this.memstores.length - 1;
      const memstore = this.memstores[run]!;
      const from = Math.max(count, this.starts[run]!);
      if (!memstore.freed) {
        for (let i = this.count - 1; i >= from; i--) memstore.rollback(this.refs[i]!);
        memstore.endAt(lastSeq);
      }
      this.count = from;
      if (from > this.starts[run]!) return;
      this.memstores.pop();
      this.starts.pop();
    }
  }

  /** Removes the entries after the first `count`, not their cells. */
  forgetTo(count: number): void {
    this.count = count;
    while (this.starts.length > 0 && this.starts[this.starts.length - 1]! >= count) {
      this.memstores.pop();
      this.starts.pop();
    }
  }

  /**
   * Drops the older versions that each cell has superseded (R70), where its memstore is still active.
   * @param smallestIn the smallest read point among the open reads of a memstore
   */
  dropOlder(smallestIn: (memstore: Memstore) => number): void {
    this.backwards((memstore, ref) => {
      if (!memstore.frozen) memstore.dropOlderVersions(ref, smallestIn(memstore));
    });
  }

  /** Replaces the positions of cells that a split or merge has moved. */
  relocate(moved: MovedCells): void {
    if (!this.memstores.some((memstore) => moved.has(memstore))) return;
    const { memstores, starts, refs, count } = this;
    this.memstores = [];
    this.starts = [];
    this.refs = [];
    this.count = 0;
    let run = -1;
    for (let i = 0; i < count; i++) {
      if (starts[run + 1] === i) run++;
      const before = memstores[run]!;
      const place = moved.get(before)?.get(refs[i]!);
      this.add(place?.memstore ?? before, place?.ref ?? refs[i]!);
    }
  }

  private backwards(each: (memstore: Memstore, ref: CellRef) => void): void {
    let end = this.count;
    for (let run = this.memstores.length - 1; run >= 0; run--) {
      const memstore = this.memstores[run]!;
      const start = this.starts[run]!;
      if (!memstore.freed) for (let i = end - 1; i >= start; i--) each(memstore, this.refs[i]!);
      end = start;
    }
  }
}
