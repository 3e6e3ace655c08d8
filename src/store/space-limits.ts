import { type ErrorDetails, RowanError } from '../errors.js';
import { RECORD_TABLES, type RowMutation, type RowMutations } from '../table/index.js';
import { liveFiles, type VersionState } from './manifest/index.js';
import type { TableState } from './table-state.js';

const CHECK_EVERY = 16;

const RECORDS: ReadonlySet<string> = new Set(Object.values(RECORD_TABLES));

/** The parts of the store whose bytes are counted. */
interface CountedStore {
  readonly catalog: { tables(): Iterable<TableState> };
  readonly journal: {
    readonly wal: { readonly size: number };
    readonly manifest: { readonly state: VersionState };
  };
}

/** Checks whether there is space for a write. */
export interface SpaceChecks {
  /** @throws RowanError `ERR_SPACE` when the store or the table has reached its limit, and the change adds cells. */
  check(state: TableState, change: RowMutation | RowMutations): void;
  /** As `check`, for a put, or for puts of so many rows. */
  checkPut(state: TableState, rows?: number): void;
}

/**
 * Refuses writes before the disk is full, as HBase's space quotas with NO_INSERTS do: puts, increments, appends and bulk loads are
 * refused while the store is beyond `maxDiskSize`, or the table beyond its own `rowan.maxDiskSize`. Deletes, flushes and compactions
 * go on, and so do the records of work ({@link RECORD_TABLES}) in a store beyond its limit, so that there is a way back.
 *
 * What counts are sorted files and what is in memory and becomes one; for the store also the log. The figures are taken
 * once in {@link CHECK_EVERY} rows, so a limit may be passed by so many rows, or by one batch; and for every write that would be refused.
 */
export class SpaceLimits implements SpaceChecks {
  /** Rows that may be written until the figures are taken again. */
  private left = 0;
  private readonly full = new Set<TableState>();
  private storeFull = false;

  constructor(
    private readonly store: CountedStore,
    /** Bytes; undefined: the store has no limit. */
    private readonly limit: number | undefined,
  ) {}

  check(state: TableState, change: RowMutation | RowMutations): void {
    if (this.limit === undefined && state.maxDiskSize === undefined) return;
    if (!isRemoval(change)) this.checkPut(state);
  }

  checkPut(state: TableState, rows = 1): void {
    const limit = RECORDS.has(state.name) ? undefined : this.limit;
    const { maxDiskSize } = state;
    if (limit === undefined && maxDiskSize === undefined) return;
    const isDue = this.left < rows;
    this.left = isDue ? CHECK_EVERY - rows : this.left - rows;
    if (!isDue && !this.storeFull && !this.full.has(state)) return;
    if (limit !== undefined) {
      const bytes = this.storeBytes();
      this.storeFull = bytes >= limit;
      if (this.storeFull) {
        throw noSpace('The store', bytes, limit, 'Open the store with a larger maxDiskSize', {});
      }
    }
    if (maxDiskSize === undefined) return;
    const bytes = tableBytes(state);
    if (bytes < maxDiskSize) {
      this.full.delete(state);
      return;
    }
    this.full.add(state);
    throw noSpace(`Table "${state.name}"`, bytes, maxDiskSize, "Raise the table's rowan.maxDiskSize", {
      table: state.name,
    });
  }

  private storeBytes(): number {
    const { catalog, journal } = this.store;
    const { state } = journal.manifest;
    let bytes = 0;
    for (const { size } of liveFiles(state).values()) bytes += size;
    for (const { closed } of state.walSegments.values()) bytes += closed?.length ?? journal.wal.size;
    for (const table of catalog.tables()) for (const region of table.regions) bytes += region.memstoreBytes;
    return bytes;
  }
}

/**
 * The space that the changes of a step need. The first of them decides: what follows a removal belongs to it, and needs no space of its
 * own.
 */
export class StepSpace implements SpaceChecks {
  /** Whether the first change removes cells. Undefined before it. */
  private removes: boolean | undefined;
  private hasRemoved = false;

  constructor(private readonly space: SpaceChecks) {}

  check(state: TableState, change: RowMutation | RowMutations): void {
    this.removes ??= isRemoval(change);
    if (this.removes) this.hasRemoved = true;
    else this.space.check(state, change);
  }

  checkPut(state: TableState, rows?: number): void {
    this.removes ??= false;
    if (!this.removes) this.space.checkPut(state, rows);
  }

  /** Called before changes that do not belong to those before. @returns what {@link resume} takes. */
  begin(): boolean | undefined {
    const { removes } = this;
    this.removes = undefined;
    return removes;
  }

  /** Goes on with the changes that were left by {@link begin}. */
  resume(removes: boolean | undefined): void {
    this.removes = removes;
  }

  /** Called before what belongs to all changes of the step. */
  beginLast(): void {
    this.removes = this.hasRemoved || undefined;
  }
}

/** Whether a change only removes cells. */
function isRemoval(change: RowMutation | RowMutations): boolean {
  return change.kind === 'rowMutations' ? change.mutations.every(isRemoval) : change.kind === 'delete';
}

function tableBytes(state: TableState): number {
  const files = new Map<number, number>();
  let bytes = 0;
  for (const store of state.stores()) {
    bytes += store.memstoreBytes;
    // Two regions have one file after a split.
    for (const file of store.version.files) files.set(file.fileNo, file.size);
  }
  for (const size of files.values()) bytes += size;
  return bytes;
}

function noSpace(
  what: string,
  bytes: number,
  limit: number,
  remedy: string,
  details: ErrorDetails,
): RowanError {
  return new RowanError(
    'ERR_SPACE',
    `${what} has ${bytes} bytes on the disk and in memory, and its limit is ${limit}: nothing was written. ${remedy}, or delete rows and ` +
      'compact: deletes are still accepted.',
    { details: { ...details, bytes, limit } },
  );
}
