/**
 * The queue of eventual indexes on the embedded engine. A note names an entry to be updated. The update reads the row
 * in the same step, and the row decides whether the entry exists. So the order of notes does not matter, nor do
 * repetitions or concurrent writers.
 */

import { equalBytes, startsWithBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { applyReadSet, type ReadSet, readColumns } from '../../query/projection.js';
import { EntryExpiry, waitingIn } from '../../repository/index.js';
import { type AtomicStep, type Engine, Get, Scan, type StepTable } from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { EntityIndexes } from './entity-indexes.js';
import { dataRowOf, notePrefix, noteRow } from './entry.js';
import { deleteOf, putOf } from './plan.js';

/** The notes of one entity's eventual indexes. */
class EventualIndexQueue {
  /** The prefix of each index's notes, by index position. Undefined where entries are written with the rows. */
  private readonly prefixes: readonly (Uint8Array | undefined)[];
  private readonly life: EntryExpiry;
  private readonly read: ReadSet;

  constructor(
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
  ) {
    const { schema, all, columns } = indexes;
    this.prefixes = all.map(({ index }) => (index.eventual ? notePrefix(index.id) : undefined));
    this.life = new EntryExpiry(schema);
    this.read = readColumns(schema, [], columns, undefined);
  }

  /** Whether a row of the index table is a note of one of the indexes. */
  has(row: Uint8Array): boolean {
    return this.placeOf(row) >= 0;
  }

  /** At most `most` notes of an index after `after`. */
  waiting(step: AtomicStep, place: number, after: Uint8Array | undefined, most: number): Uint8Array[] {
    const scan = new Scan().setStartStopRowForPrefix(this.prefixes[place]!).setLimit(most);
    if (after !== undefined) scan.withStartRow(after, false);
    return step.scan(scan, this.indexes.tableName).map(({ row }) => row);
  }

  /** Scans of the notes of each index, with the table that they are in. */
  scans(): readonly (readonly [string, Scan])[] {
    return this.prefixes.flatMap((prefix) =>
      prefix === undefined
        ? []
        : [[this.indexes.tableName, new Scan().setStartStopRowForPrefix(prefix)] as const],
    );
  }

  /** The positions of the eventual indexes among the entity's. */
  get places(): readonly number[] {
    return this.prefixes.flatMap((prefix, place) => (prefix === undefined ? [] : [place]));
  }

  /** Updates the entries of these notes from their rows, and removes the notes. @returns the number of notes. */
  process(step: AtomicStep, notes: readonly Uint8Array[]): number {
    let processed = 0;
    for (const note of notes) if (this.processOne(step, note)) processed++;
    return processed;
  }

  private processOne(step: AtomicStep, note: Uint8Array): boolean {
    const { tableName: table, schema, all } = this.indexes;
    const place = this.placeOf(note);
    if (place < 0 || step.read(new Get(note), table).isEmpty) return false;
    const index = all[place]!;
    const entry = noteRow(note);
    const get = new Get(dataRowOf(index.index, entry));
    applyReadSet(get, this.read);
    const stored = step.read(get, schema.table.descriptor.name);
    const is = this.indexes.entriesOf(stored)[place]!.find(({ row }) => equalBytes(row, entry));
    const cellOf = (family: string, qualifier: Uint8Array) => stored.getLatest(family, qualifier);
    const change =
      is === undefined ? deleteOf(entry) : putOf(is, this.life.remaining(index.needed, cellOf, this.now()));
    // First: what is updated belongs to writes that were accepted, whatever space is left now. A power loss undoes it together with the
    // updates, so they are done again.
    step.apply({ table, change: deleteOf(note).setDurability('ASYNC_WAL') });
    // A stored entry with a longer TTL would reappear.
    if (is !== undefined && this.life.ends) {
      step.apply({ table, change: deleteOf(entry).setDurability('ASYNC_WAL') });
    }
    step.apply({ table, change: change.setDurability('ASYNC_WAL') });
    return true;
  }

  private placeOf(row: Uint8Array): number {
    return this.prefixes.findIndex((prefix) => prefix !== undefined && startsWithBytes(row, prefix));
  }
}

/** Notes processed in one step. */
const STEP = 256;
/** Notes held in memory. Those beyond are found by a scan. */
const MOST = 65_536;

/**
 * The notes of eventual indexes of an open embedded database: processed in the background after each write, or on demand by `drain`.
 */
export class EventualEntries {
  private readonly byEntity = new Map<string, EntityNotes>();
  private ended = false;

  constructor(
    private readonly engine: Engine,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Starts processing the notes of an entity. Undefined where it has no eventual index. */
  of(indexes: EntityIndexes): EntityNotes | undefined {
    const { schema } = indexes;
    if (!indexes.all.some(({ index }) => index.eventual)) return undefined;
    const table = this.engine.table(schema.table.descriptor.name);
    if (!('atomic' in table)) return undefined;
    const known = this.byEntity.get(schema.name);
    if (known?.notes.indexes === indexes) return known;
    known?.end();
    const notes = new EventualIndexQueue(indexes, () => this.engine.now());
    const own = new EntityNotes(notes, table as StepTable, this.onFailure);
    if (!this.ended) own.listen(this.engine);
    this.byEntity.set(schema.name, own);
    return own;
  }

  /** The notes that wait, of all eventual indexes. None where no entity has one. @param limit notes to read of an index. */
  async backlog(limit: number): Promise<readonly Metric[]> {
    const all = [...this.byEntity.values()].flatMap(({ notes }) => notes.scans());
    if (all.length === 0) return [];
    const found = await Promise.all(all.map(([table, scan]) => waitingIn(this.engine, table, scan, limit)));
    return [
      {
        name: 'rowan.index.pending',
        kind: 'gauge',
        unit: '{entry}',
        description: 'Entries of eventual indexes that are not written yet',
        value: found.reduce((sum, { count }) => sum + count, 0),
      },
      {
        name: 'rowan.index.pending.age',
        kind: 'gauge',
        unit: 'ms',
        description: 'For how long the first of them has waited',
        value: Math.max(...found.map(({ age }) => age)),
      },
    ];
  }

  /** Stops after the current step. The rest is resumed when the database is opened next. */
  async end(): Promise<void> {
    this.ended = true;
    await Promise.all([...this.byEntity.values()].map((notes) => notes.end()));
  }
}

/** The notes of one entity. */
export class EntityNotes {
  /** Rows of notes that were written and are pending, some perhaps by writes that failed. */
  private readonly noted = new Map<string, Uint8Array>();
  /** Whether there may be notes that are not in `noted`. */
  private unknown = false;
  private running: Promise<void> | undefined;
  private stopListening: (() => void) | undefined;
  private ended = false;

  constructor(
    readonly notes: EventualIndexQueue,
    private readonly table: StepTable,
    private readonly onFailure: (error: RowanError) => void,
  ) {}

  /** Remembers the notes of every write from now on; those of transactions once they are committed. */
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

  /** Starts processing all pending notes in the background, including those of earlier programs. */
  kickAll(): void {
    this.unknown = true;
    this.kick();
  }

  private kick(): void {
    if (this.running !== undefined || this.ended) return;
    // After the step that writes the note.
    this.running = new Promise((resolve) => setImmediate(resolve))
      .then(() => this.work())
      .catch((error: unknown) => {
        this.running = undefined;
        this.unknown = true;
        if (!(error instanceof RowanError)) throw error;
        if (!this.ended) this.onFailure(error);
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
    // In the turn of the last look: a note that comes now starts anew.
    this.running = undefined;
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
    return this.table.atomic((step) => this.notes.process(step, notes));
  }

  /**
   * Processes every note of an index that is pending at the call. @returns the number of notes. @throws RowanError of
   * the engine.
   */
  async drain(place: number): Promise<number> {
    let processed = 0;
    let last: Uint8Array | undefined;
    do {
      const from = last;
      [processed, last] = await this.table.atomic((step): [number, Uint8Array | undefined] => {
        const found = this.notes.waiting(step, place, from, STEP);
        return [processed + this.notes.process(step, found), found.length < STEP ? undefined : found.at(-1)];
      });
    } while (last !== undefined && !this.ended);
    return processed;
  }

  async end(): Promise<void> {
    this.ended = true;
    this.stopListening?.();
    await this.running;
  }
}
