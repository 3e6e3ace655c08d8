import { InvalidArgumentError, RowanError } from '../errors.js';
import { describe } from '../table/checks.js';
import { canonicalTableName, type TableDescriptor, tableDescriptor } from '../table/index.js';
import { disabledTable } from './catalog.js';
import type { StoreCore } from './store-core.js';
import { SNAPSHOTS, type TableState } from './table-state.js';

/** A snapshot, as `listSnapshots` returns it. */
export interface TableSnapshot {
  readonly name: string;
  /** The table that it was taken of. */
  readonly table: string;
  /** Milliseconds since 1970. */
  readonly creationTime: number;
}

/** The metadata key of the hidden table that marks it as a snapshot. */
const MARK = 'ROWAN_SNAPSHOT';

/**
 * Snapshots of tables. A snapshot is a hidden, disabled table whose regions share the files of the original table, as the
 * daughters of a split share their parent's files: nothing is copied, and a file is removed when no table uses it. So checkpoints,
 * verification and repair of a store cover its snapshots too.
 */
export class Snapshots {
  constructor(private readonly core: StoreCore) {}

  /**
   * Takes a snapshot of the table as of one moment during the call: with every write acknowledged before, and each atomic step
   * whole.
   * @throws InvalidArgumentError when a snapshot of this name exists, or the name is invalid.
   */
  async take(name: string, state: TableState): Promise<void> {
    const hidden = hiddenName(name);
    const { catalog, commits, maintenance } = this.core;
    if (catalog.hidden(hidden) !== undefined) {
      throw new InvalidArgumentError(
        `The snapshot "${name}" exists already. Delete it first, or choose another name.`,
      );
    }
    const mark = JSON.stringify({ table: state.name, creationTime: this.core.environment.now() });
    await catalog.copyTable(
      state,
      () => renamed(state.descriptor, hidden, { ...state.descriptor.metadata, [MARK]: mark }),
      {
        enabled: false,
        // All memstores are frozen in one turn: later writes have higher sequence numbers, and are flushed to other files.
        before: async () => {
          const last = commits.lastSeq;
          const flushes = state.regions.flatMap((region) =>
            region.stores.map((store) => maintenance.flush({ state, region, store })),
          );
          await Promise.all(flushes);
          return last;
        },
      },
    );
  }

  /** Creates a table from the snapshot, enabled. @throws RowanError `ERR_TABLE_EXISTS`. */
  async clone(name: string, newTable: string): Promise<void> {
    const snapshot = this.find(name);
    await this.core.catalog.copyTable(snapshot, () => unmarked(snapshot.descriptor, newTable), {
      enabled: true,
    });
  }

  /** Restores the table of the snapshot, which must be disabled, to the snapshot's contents. It stays disabled. */
  async restore(name: string): Promise<void> {
    const snapshot = this.find(name);
    const { table } = listSnapshots(this.core.catalog.tables()).find((each) => each.name === name)!;
    const replaced = this.core.catalog.find(table);
    if (replaced?.enabled) throw disabledTable(table, 'restore');
    await this.core.catalog.copyTable(snapshot, () => unmarked(snapshot.descriptor, table), {
      enabled: false,
      replaced,
    });
  }

  async delete(name: string): Promise<void> {
    await this.core.catalog.deleteTable(this.find(name));
  }

  private find(name: string): TableState {
    const state = this.core.catalog.hidden(hiddenName(name));
    if (state !== undefined) return state;
    const known = listSnapshots(this.core.catalog.tables()).map((each) => each.name);
    throw new RowanError(
      'ERR_INVALID_ARGUMENT',
      `There is no snapshot "${name}". ${known.length === 0 ? 'Take one first.' : `Snapshots: ${known.join(', ')}.`}`,
    );
  }
}

/** The snapshots among all tables of a store, sorted by name. */
export function listSnapshots(tables: Iterable<TableState>): TableSnapshot[] {
  const found = [...tables].flatMap(({ descriptor }) => {
    const mark = isHidden(descriptor.name) ? descriptor.metadata[MARK] : undefined;
    if (mark === undefined) return [];
    const { table, creationTime } = JSON.parse(mark) as Omit<TableSnapshot, 'name'>;
    return [{ name: descriptor.name.slice(SNAPSHOTS.length + 1), table, creationTime }];
  });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function isHidden(table: string): boolean {
  return table.startsWith(`${SNAPSHOTS}:`);
}

/** @throws InvalidArgumentError for an invalid name. */
function hiddenName(name: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,200}$/.test(name))
    return canonicalTableName(`${SNAPSHOTS}:${name}`);
  throw new InvalidArgumentError(
    `A snapshot cannot be named ${describe(name)}. Use up to 200 letters, digits, _, - and dots.`,
  );
}

function unmarked(descriptor: TableDescriptor, name: string): TableDescriptor {
  const { [MARK]: _, ...metadata } = descriptor.metadata;
  return renamed(descriptor, name, metadata);
}

function renamed(
  { name: _, families, ...options }: TableDescriptor,
  name: string,
  metadata: Readonly<Record<string, string>>,
): TableDescriptor {
  const byName = Object.fromEntries(families.map(({ name: family, ...rest }) => [family, rest]));
  return tableDescriptor(name, byName, { ...options, metadata });
}
