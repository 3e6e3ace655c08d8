import { equalBytes, toLatin1 } from '../../../bytes/index.js';
import { UnsupportedError } from '../../../errors.js';
import { copyOf } from '../../../job/row-cells.js';
import type { RowImage } from '../../../repository/index.js';
import type { EntitySchema } from '../../../schema/types.js';
import {
  type Additions,
  type Cell,
  type Engine,
  Get,
  type ObservedWrite,
  type Result,
  type RowRead,
  type TableChange,
  type WriteObserver,
} from '../../../table/index.js';
import type { RowUpkeep } from '../../feature.js';
import type { RowEffects } from './row-effects.js';
import { RowMapping } from './row-mapping.js';

/**
 * The dual writes of two layouts of an entity: each write of a row in one is applied to its row in the other in
 * the same step, cell by cell, with the same timestamps.
 */
export class DualWrites {
  /** The second of two writes, which has no third. */
  readonly ownChanges = new WeakSet<TableChange['change']>();
  /** The other row before a write in progress; only where columns determine it. */
  private readonly before = new WeakMap<TableChange['change'], Uint8Array | undefined>();
  /** The rows being written, as they were before. */
  private readonly images = new WeakMap<TableChange['change'], RowImage>();
  /** Sets that collect the rows of the source written since a watch began. */
  private readonly watchers = new Set<Set<string>>();
  private isSuspended = false;
  private endings: (() => void)[] = [];
  readonly forward: RowMapping;
  private readonly backward: RowMapping;

  constructor(
    private readonly engine: Engine,
    from: EntitySchema,
    to: EntitySchema,
    /** Maintains the data that features store about an entity's rows. Undefined: there is none. */
    readonly effectsOf: (schema: EntitySchema) => RowEffects | undefined,
    /** Maintains the data that features store about an entity's rows. */
    readonly upkeepOf: (schema: EntitySchema) => readonly RowUpkeep[],
  ) {
    this.forward = new RowMapping(from, to);
    this.backward = new RowMapping(to, from);
  }

  /** From now on every write of either layout through this engine is made in both. */
  begin(): void {
    if (this.endings.length > 0) return;
    const observe = (mapping: RowMapping): (() => void) =>
      this.engine.observe(mapping.source.table.descriptor.name, this.observer(mapping));
    this.endings = [observe(this.forward), observe(this.backward)];
  }

  end(): void {
    for (const ending of this.endings.splice(0)) ending();
  }

  /** Collects the rows of the source that are written from now on, as Latin-1 strings. */
  watch(): { readonly touched: ReadonlySet<string>; end(): void } {
    const touched = new Set<string>();
    this.watchers.add(touched);
    return { touched, end: () => this.watchers.delete(touched) };
  }

  /** Runs part of a step whose writes are made in one layout only: for copying and removing. */
  inOneLayout<T>(work: () => T): T {
    this.isSuspended = true;
    try {
      return work();
    } finally {
      this.isSuspended = false;
    }
  }

  private mark(change: TableChange): TableChange {
    this.ownChanges.add(change.change);
    return change;
  }

  private observer(mapping: RowMapping): WriteObserver {
    const isFollowed = (write: ObservedWrite): boolean =>
      !this.ownChanges.has(write.change) && mapping.matches(write.change.row);
    const isOwn = ({ change }: ObservedWrite): boolean =>
      this.ownChanges.has(change) && mapping.matches(change.row);
    return {
      // A transaction may use both layouts.
      inTransactions: true,
      ignores: () => this.isSuspended,
      before: (write) => {
        if (isOwn(write)) this.noteImage(mapping.source, write);
        if (mapping.needed.length === 0 || !isFollowed(write)) return undefined;
        this.before.set(write.change, rowNow(mapping, write));
        return undefined;
      },
      after: (write) => {
        if (isOwn(write)) return this.followEffects(mapping.source, write);
        return isFollowed(write) ? this.follow(mapping, write) : undefined;
      },
    };
  }

  private noteImage(schema: EntitySchema, { change, read }: ObservedWrite): void {
    const image = this.effectsOf(schema)?.imageOf(change.row, read as RowRead);
    if (image !== undefined) this.images.set(change, image);
  }

  private followEffects(schema: EntitySchema, { change, read }: ObservedWrite): Additions {
    const before = this.images.get(change);
    return before && this.effectsOf(schema)!.changed(change.row, before, 'USE_DEFAULT', read as RowRead);
  }

  private follow(mapping: RowMapping, write: ObservedWrite): Additions {
    const { row } = write.change;
    const table = mapping.target.table.descriptor.name;
    const now = rowNow(mapping, write);
    const was = mapping.needed.length === 0 ? now : this.before.get(write.change);
    this.touch(mapping === this.forward ? row : (now ?? was));
    const copied = (target: Uint8Array, cells: readonly Cell[]): Additions => {
      const change = copyOf(target, mapping.cellsOf(row, target, cells));
      return change && [this.mark({ table, change, timestampsAssigned: true })];
    };
    if (was === undefined)
      return (
        now &&
        copied(
          now,
          mapping.needed.length === 0 ? write.stored!() : [...write.stored!(), ...read(write, row).cells],
        )
      );
    if (now === undefined ? !read(write, row).isEmpty : !equalBytes(was, now)) throw keyChanged(mapping);
    return copied(was, write.stored!());
  }

  private touch(row: Uint8Array | undefined): void {
    if (row === undefined || this.watchers.size === 0) return;
    const name = toLatin1(row);
    for (const watcher of this.watchers) watcher.add(name);
  }
}

function read(write: ObservedWrite, row: Uint8Array): Result {
  return write.read(new Get(row).readAllVersions()) as Result;
}

/** The target's row for the source's, at this point of the step. */
function rowNow(mapping: RowMapping, write: ObservedWrite): Uint8Array | undefined {
  const { row } = write.change;
  if (mapping.needed.length === 0) return mapping.rowOf(row);
  const get = new Get(row);
  for (const { family, qualifier } of mapping.needed) get.addColumn(family, qualifier);
  const found = write.read(get) as Result;
  return mapping.rowOf(row, ({ family, qualifier }) => found.getValue(family, qualifier));
}

function keyChanged({ needed, source, target }: RowMapping): UnsupportedError {
  const names = needed.map(({ property }) => property).join(', ');
  return new UnsupportedError(
    `The keys of ${source.name} are being changed to those of ${target.name}, which contain ${names}. So it can no longer be changed or removed, ` +
      'like any part of a key. Delete the entity, and insert it again.',
    { details: { entity: source.name } },
  );
}
