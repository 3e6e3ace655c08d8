/** Builds, checks and mends an index, while the application goes on writing. */

import { equalBytes, prefixEnd, toHex, toLatin1 } from '../../bytes/index.js';
import { ConflictError, UnsupportedError } from '../../errors.js';
import {
  decodeEntry,
  ENTRY_QUALIFIER,
  type EntityIndexes,
  INDEX_FAMILY,
  type IndexEntry,
  VERIFIED,
} from '../../indexes/index.js';
import { murmur3 } from '../../key/digest/murmur3.js';
import { applyReadSet, readColumns } from '../../query/projection.js';
import { deleteOf, EntryLife, putOf } from '../../repository/index.js';
import {
  type Engine,
  Get,
  type Result,
  type RowRead,
  Scan,
  type SyncTable,
  type TableChange,
} from '../../table/index.js';
import { runJob } from '../runner.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext, SplitWork } from '../types.js';

/** The index of an entity that a job is about, alone among its indexes. */
export interface IndexTarget {
  readonly engine: Engine;
  readonly indexes: EntityIndexes;
  /** The rows that were written since `watch`; a build need not read the others again. */
  watch(): { readonly touched: ReadonlySet<string>; end(): void };
}

/** What a check found, and a repair mended. `verify` counts each entry and each missing one once. */
export interface IndexReport {
  /** Rows of the entity that were looked at. */
  readonly rows: number;
  /** Entries that say what their rows say. */
  readonly valid: number;
  /** Rows' entries that are not there. */
  readonly missing: number;
  /** Entries without a row. */
  readonly extra: number;
  /** Entries of rows that say something else. */
  readonly stale: number;
  /** Entries that were written before their rows (HBase only). */
  readonly unverified: number;
  /** Of entities that end: entries that have outlived their rows, and end shortly. */
  readonly beyondTtl: number;
  /** What was put right. */
  readonly repaired: number;
}

export interface VerifyOptions {
  /** The share of rows and entries that is looked at, 0 to 1. Default 1. */
  readonly sample?: number;
  /** How the job is run. */
  readonly run?: JobRunOptions;
}

type AtomicTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;

function tableOf(target: IndexTarget): AtomicTable {
  const table = target.engine.table(target.indexes.schema.table.descriptor.name);
  if ('commit' in table) return table as AtomicTable;
  throw new UnsupportedError('Indexes are kept on the embedded engine only; HBase has none yet.');
}

/**
 * Writes the entries of every row. `over`: whether entries may be there that no row bears out; they are removed then. Only
 * a build of the same number is gone on with.
 * @throws ConflictError when two rows have the values of a unique index; then it can be asked by nobody.
 */
export async function buildIndex(
  target: IndexTarget,
  { over, build }: { readonly over: boolean; readonly build: number },
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const table = tableOf(target);
  const { index } = target.indexes.all[0]!;
  const watched = target.watch();
  try {
    // What was ordered before the watch began is visible to the scans when this is done.
    await table.commit(() => []);
    const phases: JobPhase[] = [
      rowsPhase(target, (context) => new BuildWork(target, table, context, watched.touched)),
    ];
    if (over) phases.push(entriesPhase(target, (context) => new EntryWork(target, table, context, 1, true)));
    const name = toolJobName('index-build', toHex(index.id), ...(build === 0 ? [] : [String(build)]));
    const signature = `${index.signature} ${over ? 'over' : 'new'}`;
    const outcome = await runJob(target.engine, { name, signature, phases }, { restart: 'done', ...run });
    const conflicts = outcome.counters['conflicts'] ?? 0;
    if (conflicts > 0) throw conflictsOf(target, conflicts);
    return outcome;
  } finally {
    watched.end();
  }
}

/** Holds rows and entries against each other, in both directions; with `repair` makes the entries what they should be. */
export async function verifyIndex(
  target: IndexTarget,
  repair: boolean,
  { sample = 1, run = {} }: VerifyOptions = {},
): Promise<IndexReport> {
  const table = tableOf(target);
  const { index } = target.indexes.all[0]!;
  const phases = [
    rowsPhase(target, (context) => new RowWork(target, table, context, sample, repair)),
    entriesPhase(target, (context) => new EntryWork(target, table, context, sample, repair)),
  ];
  const name = toolJobName(repair ? 'index-repair' : 'index-verify', toHex(index.id));
  const signature = `${index.signature} ${sample}`;
  const { counters } = await runJob(
    target.engine,
    { name, signature, phases },
    { restart: repair ? 'done' : true, ...run },
  );
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    valid: count('valid'),
    missing: count('missing'),
    extra: count('extra'),
    stale: count('stale'),
    unverified: count('unverified'),
    beyondTtl: count('beyondTtl'),
    repaired: count('repaired'),
  };
}

function rowsPhase(target: IndexTarget, open: (context: SplitContext) => SplitWork): JobPhase {
  const { schema, columns } = target.indexes;
  return {
    table: schema.table.descriptor.name,
    ranges: [],
    scan: () => {
      const scan = new Scan().setCacheBlocks(false);
      applyReadSet(scan, readColumns(schema, [], columns, undefined));
      return scan;
    },
    open,
  };
}

function entriesPhase(target: IndexTarget, open: (context: SplitContext) => SplitWork): JobPhase {
  const { index } = target.indexes.all[0]!;
  return {
    table: target.indexes.tableName,
    ranges: [{ start: index.id, stop: prefixEnd(index.id) ?? new Uint8Array(0) }],
    scan: () => new Scan().setCacheBlocks(false),
    open,
  };
}

/** What the works share: the row as it is in the turn of the commit, and its entries. */
abstract class IndexWork implements SplitWork {
  protected readonly index;
  private readonly own: boolean;
  /** The changes of the rows that came last. */
  private underWay: Promise<void> = Promise.resolve();
  private readonly life: EntryLife;

  constructor(
    protected readonly target: IndexTarget,
    protected readonly table: AtomicTable,
    protected readonly context: SplitContext,
  ) {
    this.index = target.indexes.all[0]!.index;
    this.own = target.indexes.schema.table.entities.length === 1;
    this.life = new EntryLife(target.indexes.schema);
  }

  /** Resolves when the rows before are done: while the disk takes their entries, these are read. */
  async rows(rows: readonly Result[]): Promise<void> {
    const before = this.underWay;
    this.underWay = this.change(rows);
    // Whoever asks for it next is told.
    this.underWay.catch(() => undefined);
    await before;
  }

  /** What is noted as done is on the disk. */
  async commit(): Promise<undefined> {
    await this.underWay;
  }

  async close(): Promise<void> {
    await this.underWay.catch(() => undefined);
  }

  private async change(rows: readonly Result[]): Promise<void> {
    let counted: [string, number][] = [];
    await this.table.commit((read) => {
      const changes: TableChange[] = [];
      const counts = new Map<string, number>();
      const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
      for (const row of rows) this.one(row, read, changes, count);
      counted = [...counts];
      return changes.length === 0 ? [] : [changes];
    });
    for (const [what, by] of counted) this.context.count(what, by);
  }

  protected abstract one(
    row: Result,
    read: RowRead,
    changes: TableChange[],
    count: (what: string) => void,
  ): void;

  protected isOwn({ row }: Result): boolean {
    return this.own || this.target.indexes.schema.key.matches(row);
  }

  protected readRow(row: Uint8Array, read: RowRead): Result {
    const get = new Get(row);
    applyReadSet(get, readColumns(this.target.indexes.schema, [], this.target.indexes.columns, undefined));
    return read(get);
  }

  protected readEntry(row: Uint8Array, read: RowRead): Uint8Array | undefined {
    return read(new Get(row), this.target.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
  }

  protected entriesOf(row: Result) {
    return this.target.indexes.entriesOf(row)[0]!;
  }

  /** What writes an entry of a row, to end when the row does. */
  protected write(entry: IndexEntry, row: Result): TableChange {
    const cellOf = (family: string, qualifier: Uint8Array) => row.getLatest(family, qualifier);
    const ttl = this.life.remaining(this.target.indexes.all[0]!, cellOf, this.target.engine.now());
    return { table: this.target.indexes.tableName, change: putOf(entry, ttl) };
  }

  /** Whether the entry of a unique index stands for another row, which bears it out. */
  protected isTaken(
    entry: Uint8Array,
    stored: Uint8Array | undefined,
    row: Uint8Array,
    read: RowRead,
  ): boolean {
    if (!this.index.unique || stored === undefined) return false;
    const { dataRow } = decodeEntry(this.index, entry, stored);
    if (equalBytes(dataRow, row)) return false;
    return this.entriesOf(this.readRow(dataRow, read)).some((one) => equalBytes(one.row, entry));
  }
}

class BuildWork extends IndexWork {
  private batch: TableChange[] | undefined;
  /** Of a unique index: entries of this batch, which are not in the store yet. */
  private readonly pending = new Set<string>();

  constructor(
    target: IndexTarget,
    table: AtomicTable,
    context: SplitContext,
    private readonly touched: ReadonlySet<string>,
  ) {
    super(target, table, context);
  }

  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!this.isOwn(row)) return;
    const { touched } = this;
    const now = touched.size > 0 && touched.has(toLatin1(row.row)) ? this.readRow(row.row, read) : row;
    for (const entry of this.entriesOf(now)) {
      if (this.index.unique) {
        if (
          this.isPending(entry.row, changes) ||
          this.isTaken(entry.row, this.readEntry(entry.row, read), now.row, read)
        ) {
          count('conflicts');
          continue;
        }
      }
      changes.push(this.write(entry, now));
      count('entries');
    }
    count('rows');
  }

  private isPending(entry: Uint8Array, changes: TableChange[]): boolean {
    if (this.batch !== changes) this.pending.clear();
    this.batch = changes;
    const name = toLatin1(entry);
    const pending = this.pending.has(name);
    this.pending.add(name);
    return pending;
  }
}

/** From rows to entries. */
class RowWork extends IndexWork {
  constructor(
    target: IndexTarget,
    table: AtomicTable,
    context: SplitContext,
    private readonly sample: number,
    private readonly repair: boolean,
  ) {
    super(target, table, context);
  }

  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!this.isOwn(row) || !isSampled(row.row, this.sample)) return;
    count('rows');
    const now = this.readRow(row.row, read);
    for (const entry of this.entriesOf(now)) {
      const stored = this.readEntry(entry.row, read);
      if (stored !== undefined && equalBytes(stored, entry.value)) {
        count('valid');
        continue;
      }
      const taken = this.isTaken(entry.row, stored, row.row, read);
      count(stored === undefined || taken ? 'missing' : isVerified(stored) ? 'stale' : 'unverified');
      if (!this.repair || taken) continue;
      changes.push(this.write(entry, now));
      count('repaired');
    }
  }
}

/** From entries to rows. What a row's entry says otherwise was counted on the way from the row. */
class EntryWork extends IndexWork {
  constructor(
    target: IndexTarget,
    table: AtomicTable,
    context: SplitContext,
    private readonly sample: number,
    private readonly repair: boolean,
  ) {
    super(target, table, context);
  }

  protected one(row: Result, read: RowRead, changes: TableChange[], count: (what: string) => void): void {
    if (!isSampled(row.row, this.sample)) return;
    const stored = this.readEntry(row.row, read);
    if (stored === undefined) return;
    const what = this.verdict(row.row, stored, read);
    if (what === undefined) return;
    count(what);
    if (!this.repair) return;
    changes.push({ table: this.target.indexes.tableName, change: deleteOf(row.row) });
    count('repaired');
  }

  private verdict(entry: Uint8Array, stored: Uint8Array, read: RowRead): string | undefined {
    const { dataRow } = decodeEntry(this.index, entry, stored);
    const row = this.readRow(dataRow, read);
    if (this.entriesOf(row).some((one) => equalBytes(one.row, entry))) return undefined;
    if (!isVerified(stored)) return 'unverified';
    if (!row.isEmpty) return 'stale';
    const { schema } = this.target.indexes;
    const ends =
      schema.timeToLive.lifelong || schema.table.descriptor.families.some(({ ttl }) => ttl < 2 ** 31 - 1);
    return ends ? 'beyondTtl' : 'extra';
  }
}

function isVerified(value: Uint8Array): boolean {
  return value[0] === VERIFIED;
}

function isSampled(row: Uint8Array, share: number): boolean {
  return share >= 1 || murmur3(row) / 2 ** 32 < share;
}

function conflictsOf({ indexes }: IndexTarget, conflicts: number): ConflictError {
  const { schema, all } = indexes;
  const { name } = all[0]!.index;
  return new ConflictError(
    `${conflicts} rows of ${schema.name} have values in the unique index "${name}" that another has: it cannot be built. ` +
      'Change them, and build it again; or declare it without unique.',
    { details: { entity: schema.name, index: name, conflicts } },
  );
}
