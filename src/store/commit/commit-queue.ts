/**
 * When writes become visible and are acknowledged (HBase `MultiVersionConcurrencyControl`, R78, R87): the one owner of
 * writes that are in the memstores and not acknowledged yet.
 *
 * A write enters the queue before its first cell is in a memstore ({@link CommitQueue.begin}); it is put into the memstores,
 * numbered, appended to the log and handed to what acknowledges it ({@link CommitQueue.commit}) in one turn of the event
 * loop. The log tells the queue, in the turn in which it learns it, what has reached the operating system and the disk, and
 * what is lost. It holds that:
 *
 * C1. Writes are numbered in the order in which they enter the log, and wait here in that order.
 * C2. The read point never passes a write that waits. So nobody reads what a crash could take back, and no write of a
 *     lower durability is seen before an earlier one of a higher.
 * C3. A write is acknowledged after the read point has reached it: who was told of a write sees it.
 * C4. When the log loses a write, that write and all behind it are taken back from memory, exactly their cells, the last
 *     first, in the turn in which it is lost and before any of their promises settles. For what came behind may have been
 *     computed on it: the next increment of a counter, a check that looked at the row. A write whose own append has cost
 *     those before it is not appended.
 * C5. Whatever waited is told why in the order of the writes; an answer that rests on a write that is taken back (a check
 *     that did not match) is an error with it.
 * C6. After a failed sync nothing is acknowledged any more.
 * C8. A bulk load has one place in the order of commits: from when it is numbered until its files are with the readers it
 *     waits here ({@link CommitQueue.beginLoad}), and no write is numbered meanwhile. So what has a lower number has not
 *     seen it, and what has a higher one has.
 */

import type { RowanError } from '../../errors.js';
import type { Durability } from '../../table/index.js';
import { invariant } from '../invariant.js';
import type { Memstore } from '../memstore/memstore.js';
import type { LogObserver } from '../wal/index.js';
import type { MovedCells, WrittenCells } from './written-cells.js';

/** The part of the write-ahead log that the queue needs. */
export interface CommitLog {
  /** Told of everything that happens to the records. */
  observer: LogObserver | undefined;
  /** Has what is staged written soon. Callers of a turn share one write. */
  requestWrite(): void;
  /** Has what is staged synced soon. Callers share what they can. */
  requestSync(): void;
  /** Why nothing can be written any more. */
  readonly poisoned: RowanError | undefined;
}

/** Knows whether the store takes changes: the journal. */
export interface CommitHealth {
  /** @throws RowanError `ERR_READONLY`. */
  checkWritable(): void;
}

export type SettledDurability = Exclude<Durability, 'USE_DEFAULT'>;

/**
 * What becomes of those who wait when an earlier write is lost, or when it is unknown what is on the disk. `reject`: the
 * same; a write, or an answer that rests on earlier ones. `settle`: they wait until nothing before them is undecided, and
 * go on waiting for what is not lost, unless nothing is acknowledged any more. `stay`: the same, with a number of their own.
 */
type OnLoss = 'reject' | 'settle' | 'stay';

class Waiting {
  resolve: () => void = nobodyWaits;
  reject: (error: unknown) => void = nobodyWaits;

  constructor(
    /** No lower than that of those before it. Of a write that is being made: the first number that it may be given. */
    public seq: number,
    /** Undefined: it is being made in this turn and not in the log yet, or it is a load whose files are not recorded yet. */
    public durability: SettledDurability | undefined,
    readonly onLoss: OnLoss,
    readonly cells: WrittenCells | undefined,
    /** Cells whose older versions are dropped once they are visible. */
    readonly upserts: WrittenCells | undefined,
  ) {}
}

/** A write, or a load, that has begun: it was put into the queue, and is not committed yet. */
export type BegunWrite = Waiting;

function nobodyWaits(): void {}

export class CommitQueue implements LogObserver {
  /** The number of the last write. */
  lastSeq: number;
  /** Readers see writes up to this number. */
  readPoint: number;
  /** How often the log has lost records. */
  losses = 0;
  private waiting: Waiting[] = [];
  /** The write that is being made in this turn. */
  private begun: BegunWrite | undefined;
  /** How many loads are being recorded. */
  private loads = 0;
  /** The first of `waiting` that is not acknowledged. */
  private head = 0;
  /** What was appended up to this number is with the operating system; the sync under way covers it; is on the disk. */
  private writtenSeq: number;
  private syncingSeq: number;
  private syncedSeq: number;

  constructor(
    private readonly log: CommitLog,
    private readonly health: CommitHealth,
    lastSeq: number,
    /** The oldest read point of those that read a memstore. */
    private readonly smallestIn: (memstore: Memstore) => number,
  ) {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
    this.writtenSeq = lastSeq;
    this.syncingSeq = lastSeq;
    this.syncedSeq = lastSeq;
    log.observer = this;
  }

  /** Everything up to `lastSeq` was found in the log. */
  recovered(lastSeq: number): void {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
  }

  /** Whether a write is being made in this turn: its numbers are not given yet, another would take them. */
  get isWriting(): boolean {
    return this.begun !== undefined;
  }

  /** Numbers for `count` writes; the first of them. */
  allocate(count: number): number {
    invariant(this.loads === 0, 'C8');
    return this.number(count);
  }

  private number(count: number): number {
    const first = this.lastSeq + 1;
    this.lastSeq += count;
    return first;
  }

  /**
   * Puts a write into the queue that is made in this turn: before any of its cells is in memory. `cells` and `upserts`
   * are filled while it is made. It ends with {@link commit} or {@link abort}.
   */
  begin(cells: WrittenCells, upserts: WrittenCells | undefined): BegunWrite {
    invariant(this.begun === undefined, 'C1');
    this.begun = new Waiting(this.lastSeq + 1, undefined, 'reject', cells, upserts);
    this.add(this.begun);
    return this.begun;
  }

  /**
   * Resolves when the write that ends with number `seq`, in the log and the memstores by now, is visible; one that wrote
   * nothing, when all before it are.
   * @throws what the log says when it is lost: then it was taken back.
   */
  commit(write: BegunWrite, seq: number, durability: SettledDurability): Promise<void> {
    invariant(this.begun === write, 'C4');
    const { waiting } = this;
    // Whoever began to wait while it was made waits for all of it.
    for (let i = waiting.length - 1; waiting[i] !== write; i--) waiting[i]!.seq = seq;
    write.seq = seq;
    write.durability = durability;
    this.begun = undefined;
    const done = new Promise<void>((resolve, reject) => {
      write.resolve = resolve;
      write.reject = reject;
    });
    // The log may have written it at once, to have room for the next.
    if (durability !== 'FSYNC_WAL' && durability !== 'SYNC_WAL' && this.isDone(write)) this.advance();
    else if (durability === 'ASYNC_WAL') this.log.requestWrite();
    else this.log.requestSync();
    return done;
  }

  /** Takes a write back that is not in the log, or had nothing to write; answers that rest on it get `error`. */
  abort(write: BegunWrite, error: unknown): void {
    if (this.begun !== write) return;
    // Its numbers will be given to others, unless the log has refused them.
    write.cells!.rollbackTo(0, write.seq - 1);
    this.rollback(this.waiting.lastIndexOf(write), error, false);
  }

  /** Resolves when every write so far is acknowledged: for an answer that rests on them. @throws when one is lost. */
  async awaitPrior(): Promise<void> {
    if (this.head < this.waiting.length) await this.barrier('reject');
  }

  /** Resolves when every write so far is acknowledged or taken back. @throws when that will never be known. */
  async awaitDecided(): Promise<void> {
    this.health.checkWritable();
    if (this.head === this.waiting.length) return;
    // Somebody waits for memory, a file or a copy: those with a lower durability need not be hurried for themselves.
    this.log.requestSync();
    await this.barrier('settle');
  }

  /**
   * Numbers a bulk load, whose files are about to be recorded; nothing behind it is visible before it is. It ends with
   * {@link commitLoad} or {@link abortLoad}, and until then nobody may write.
   */
  beginLoad(): BegunWrite {
    const load = new Waiting(this.number(1), undefined, 'stay', undefined, undefined);
    this.loads++;
    this.add(load);
    return load;
  }

  /** Its files are recorded, and with the readers since this turn. Resolves when they see what is in them. */
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

  /** Its files are not recorded, or nobody knows whether they are. */
  abortLoad(load: BegunWrite): void {
    this.loads--;
    const at = this.waiting.lastIndexOf(load);
    if (at >= this.head) this.waiting.splice(at, 1);
    if (!this.log.poisoned) this.advance();
  }

  /** A split or merge of regions has copied cells elsewhere. */
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

  /** From the log: the sync has ended; `everything` that was written meanwhile is on the disk, too. */
  syncEnded(everything: boolean): void {
    this.syncedSeq = Math.max(this.syncedSeq, everything ? this.writtenSeq : this.syncingSeq);
    this.advance();
  }

  /** From the log: the records that were staged are gone; what was written stays. */
  onBatchFailed(error: unknown): void {
    this.losses++;
    const { waiting } = this;
    let first = waiting.length;
    while (first > this.head && waiting[first - 1]!.seq > this.writtenSeq) first--;
    while (first < waiting.length && waiting[first]!.durability === 'SKIP_WAL') first++;
    // What is being made is not in the log: whoever makes it learns from its own append whether it can be.
    if (this.begun !== undefined && waiting[first] === this.begun) return;
    this.rollback(first, error, false);
  }

  /** From the log: nobody knows what is on the disk, or nobody ever will write there again. */
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
    this.add(entry);
    return new Promise((resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = reject;
    });
  }

  private add(entry: Waiting): void {
    invariant(this.waiting.length === this.head || entry.seq >= this.waiting.at(-1)!.seq, 'C1');
    this.waiting.push(entry);
  }

  private isDone({ durability, seq }: Waiting): boolean {
    if (durability === undefined) return false;
    if (durability === 'SKIP_WAL') return true;
    return seq <= (durability === 'ASYNC_WAL' ? this.writtenSeq : this.syncedSeq);
  }

  /** Acknowledges those at the front that are as durable as they ask to be. */
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

  /** Takes back everything from `first` on; `forEver`: nothing will be known of it. */
  private rollback(first: number, error: unknown, forEver: boolean): void {
    const lost = this.waiting.splice(first);
    if (this.begun !== undefined && lost.includes(this.begun)) this.begun = undefined;
    for (let i = lost.length - 1; i >= 0; i--) lost[i]!.cells?.rollback();
    let before = 0;
    for (const entry of lost) {
      if (entry.onLoss !== 'reject' && !forEver) {
        // Writes that are not lost may still be before it; the numbers of those that are must not be passed.
        if (entry.onLoss === 'settle') entry.seq = this.inOrder(this.readPoint);
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
