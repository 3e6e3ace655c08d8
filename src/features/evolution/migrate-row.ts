/**
 * Migrates one row to its declared form: in one step where the engine has steps, otherwise with a check of what was
 * read.
 */

import { ConflictError, UnsupportedError } from '../../errors.js';
import {
  type AtomicStep,
  CheckAndMutate,
  Get,
  type RowMutation,
  RowMutations,
  type RowRead,
  type Table,
  type TableChange,
} from '../../table/index.js';
import type { EntityMoves, EntityUpgrades } from './entity-moves.js';
import { countMutations, countTransfer, moveMutations, readMoved, type TableMoves } from './table-moves.js';

/** Attempts to read and change a row that others write at the same time. */
const ATTEMPTS = 16;

/** Moves or upgrades one row in a step. @throws UnsupportedError when columns move and the row has a TTL. */
export function migrateRow(step: AtomicStep, table: string, moves: TableMoves, row: Uint8Array): void {
  const upgrades = moves.upgradesOf(row);
  const moved = moves.entityOf(row);
  let change: TableChange | undefined;
  if (upgrades !== undefined) change = upgradeOf(upgrades, row, step.read, table);
  else if (moved !== undefined) {
    change = moveOf(moved, row, step.read, table);
    if (change !== undefined && moved.ends) throw cannotMigrate(table);
  }
  if (change !== undefined) step.apply(change);
}

/** The change that moves all moved columns of a row. Undefined: nothing to move. */
export function moveOf(
  entity: EntityMoves,
  row: Uint8Array,
  read: RowRead,
  table: string,
): TableChange | undefined {
  const found = read(readMoved(new Get(row), [entity]), table);
  return inStep(table, row, [...moveMutations(entity, found), ...countMutations(entity, found)]);
}

/**
 * A change at the timestamps of the row's cells, which the engine has assigned. A cell that an old program writes in
 * the same millisecond as the deleted one must survive.
 */
function inStep(table: string, row: Uint8Array, mutations: readonly RowMutation[]): TableChange | undefined {
  if (mutations.length === 0) return undefined;
  return { table, change: new RowMutations(row).add(...mutations), timestampsAssigned: true };
}

/** Moves the counters of rows, on engines without steps, before they are incremented. */
export async function moveCounts(
  table: Table,
  moves: TableMoves,
  rows: readonly Uint8Array[],
): Promise<void> {
  const gets = rows.map((row) => readMoved(new Get(row), [moves.entityOf(row)!]));
  const found = await table.getAll(gets);
  await Promise.all(
    found.map(async (row) => {
      const transfer = row.isEmpty ? undefined : countTransfer(moves.entityOf(row.row)!, row);
      if (transfer !== undefined) await table.increment(transfer);
    }),
  );
}

/** The change that upgrades the row. Undefined: it is of the present version, or does not exist. */
export function upgradeOf(
  upgrades: EntityUpgrades,
  row: Uint8Array,
  read: RowRead,
  table: string,
): TableChange | undefined {
  return inStep(table, row, upgrades.upgradeMutations(read(upgrades.readStored(new Get(row)), table)));
}

/**
 * Upgrades a row on an engine without steps, on condition that its marker is unchanged. @returns whether it was of an
 * older version. Reads again when others have written it. @throws ConflictError when that happens too often.
 */
export async function upgradeChecked(
  table: Table,
  upgrades: EntityUpgrades,
  row: Uint8Array,
): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await table.get(upgrades.readStored(new Get(row)));
    const mutations = upgrades.upgradeMutations(stored);
    if (mutations.length === 0) return false;
    const { family, qualifier, value } = upgrades.markerIn(stored)!;
    const action = new RowMutations(row).add(...mutations);
    const check = CheckAndMutate.ifEquals(family, qualifier, value, action);
    if ((await table.checkAndMutate(check)).success) return true;
  }
  throw new ConflictError(
    `A row of table "${table.name}" was written by others ${ATTEMPTS} times while it was to be upgraded. Try again.`,
    { details: { table: table.name, entity: upgrades.schema.name } },
  );
}

export function cannotMigrate(table: string): UnsupportedError {
  return new UnsupportedError(
    `A column of table "${table}" that is moving from one place to another was to be checked or added to, while its value ` +
      'may stand at either: the engine cannot do that in one step. Have the move done first: rowan schema apply.',
    { details: { table } },
  );
}
