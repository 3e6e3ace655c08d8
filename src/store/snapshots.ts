/**
 * Snapshots of tables. One is a table that nobody sees, disabled, whose regions share the files of the table that it was taken
 * of, as the daughters of a split share their parent's: nothing is copied, and a file stays as long as anybody has it. So
 * checkpoints, checks and repairs of a store have its snapshots too.
 */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { describe } from '../table/checks.js';
import { canonicalTableName, type TableDescriptor, tableDescriptor } from '../table/index.js';
import { disabledTable } from './catalog.js';
import type { StoreCore } from './store-core.js';
import { SNAPSHOTS } from './stored-tables.js';
import type { TableState } from './table-state.js';

/** A snapshot, as `listSnapshots` tells of it. */
export interface TableSnapshot {
  readonly name: string;
  /** The table that it was taken of. */
  readonly table: string;
  /** Milliseconds since 1970. */
  readonly creationTime: number;
}

/** Where the metadata of the hidden table says what it is. */
const MARK = 'ROWAN_SNAPSHOT';

export class Snapshots {
  constructor(private readonly core: StoreCore) {}

  /**
   * Of the table as it is at one moment of the call: every write that was acknowledged before, and each atomic step whole.
   * @throws InvalidArgumentError when there is one of this name, or the name is none.
   */
  async take(name: string, state: TableState): Promise<void> {
    const hidden = hiddenName(name);
    const { catalog, commits, maintenance } = this.core;
    if (catalog.hidden(hidden) !== undefined) {
      throw new InvalidArgumentError(
        `There is a snapshot "${name}" already. Delete it first, or choose another name.`,
      );
    }
    const mark = JSON.stringify({ table: state.name, creationTime: this.core.environment.now() });
    await catalog.copyTable(
      state,
      () => renamed(state.descriptor, hidden, { ...state.descriptor.metadata, [MARK]: mark }),
      {
        enabled: false,
        // All memory is frozen in one turn: what is written from here on has higher numbers, and comes into other files.
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

  /** Makes a table of the snapshot, enabled. @throws RowanError `ERR_TABLE_EXISTS`. */
  async clone(name: string, newTable: string): Promise<void> {
    const snapshot = this.find(name);
    await this.core.catalog.copyTable(snapshot, () => unmarked(snapshot.descriptor, newTable), {
      enabled: true,
    });
  }

  /** Puts the table of the snapshot, which must be disabled, back to what it was; it stays disabled. */
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

/** The snapshots among all tables of a store, in the order of their names. */
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

/** @throws InvalidArgumentError when it is no name. */
function hiddenName(name: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,200}$/.test(name))
    return canonicalTableName(`${SNAPSHOTS}:${name}`);
  throw new InvalidArgumentError(
    `A snapshot's name is ${describe(name)}. Give it letters, digits, _, - and ., 200 at most.`,
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
