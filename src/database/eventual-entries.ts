/** The notes of eventual indexes of an open embedded database: worked behind the writes, and for those who wait for them. */

import { toLatin1 } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import type { EntityIndexes } from '../indexes/index.js';
import { type CommittingTable, EntryNotes } from '../repository/index.js';
import type { Engine } from '../table/index.js';
import type { WaitingNotes } from './index-handle.js';

/** Notes that one step works. */
const STEP = 256;
/** Notes that are remembered; those beyond are found by a scan. */
const MOST = 65_536;

export class EventualEntries {
  private readonly byEntity = new Map<string, EntityNotes>();
  private ended = false;

  constructor(
    private readonly engine: Engine,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Has the notes of an entity worked from now on. @returns undefined where entries are written otherwise. */
  of(indexes: EntityIndexes): EntityNotes | undefined {
    const { schema } = indexes;
    if (!indexes.all.some(({ index }) => index.eventual)) return undefined;
    const table = this.engine.table(schema.table.descriptor.name);
    if (!('atomic' in table)) return undefined;
    const known = this.byEntity.get(schema.name);
    if (known?.notes.indexes === indexes) return known;
    known?.end();
    const notes = new EntryNotes(indexes, () => this.engine.now());
    const own = new EntityNotes(notes, table as CommittingTable, this.onFailure);
    if (!this.ended) own.listen(this.engine);
    this.byEntity.set(schema.name, own);
    return own;
  }

  /** Stops between two steps; what is left is done when the database is opened next. */
  async end(): Promise<void> {
    this.ended = true;
    await Promise.all([...this.byEntity.values()].map((notes) => notes.end()));
  }
}

/** The notes of one entity. */
export class EntityNotes implements WaitingNotes {
  /** Notes that were written and not worked yet; perhaps of writes that came to nothing. */
  private readonly noted = new Map<string, Uint8Array>();
  /** Whether there may be notes that nobody remembers. */
  private unknown = false;
  private running: Promise<void> | undefined;
  private stopListening: (() => void) | undefined;
  private ended = false;

  constructor(
    readonly notes: EntryNotes,
    private readonly table: CommittingTable,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Remembers the notes of every write from now on, of transactions when they are committed. */
  listen(engine: Engine): void {
    this.stopListening = engine.observe(this.notes.indexes.tableName, {
      after: ({ change }) => {
        if (change.kind === 'put' && this.notes.has(change.row)) this.note(change.row);
        return undefined;
      },
    });
  }

  private note(row: Uint8Array): void {
    if (this.noted.size < MOST) this.noted.set(toLatin1(row), row);
    else this.unknown = true;
    this.kick();
  }

  /** Works what waits, that of earlier programs too, without being waited for. */
  kickAll(): void {
    this.unknown = true;
    this.kick();
  }

  private kick(): void {
    if (this.running !== undefined || this.ended) return;
    // Behind the step that writes the note.
    this.running = new Promise((resolve) => setImmediate(resolve))
      .then(() => this.work())
      .catch((error: unknown) => {
        this.unknown = true;
        if (!(error instanceof RowanError)) throw error;
        if (!this.ended) this.onFailure(error);
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async work(): Promise<void> {
    while (!this.ended && (this.unknown || this.noted.size > 0)) {
      if (this.unknown) {
        this.unknown = false;
        for (const place of this.notes.places) await this.drain(place);
      } else {
        await this.step(this.take());
      }
    }
  }

  private take(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    for (const [name, row] of this.noted) {
      if (taken.length === STEP) break;
      this.noted.delete(name);
      taken.push(row);
    }
    return taken;
  }

  private step(notes: readonly Uint8Array[]): Promise<number> {
    return this.table.atomic((step) => this.notes.settle(step, notes));
  }

  /** Works every note of an index that waits at the call. How many there were. @throws RowanError of the engine. */
  async drain(place: number): Promise<number> {
    let settled = 0;
    let last: Uint8Array | undefined;
    do {
      const from = last;
      [settled, last] = await this.table.atomic((step): [number, Uint8Array | undefined] => {
        const found = this.notes.waiting(step, place, from, STEP);
        return [settled + this.notes.settle(step, found), found.length < STEP ? undefined : found.at(-1)];
      });
    } while (last !== undefined && !this.ended);
    return settled;
  }

  async end(): Promise<void> {
    this.ended = true;
    this.stopListening?.();
    await this.running;
  }
}
