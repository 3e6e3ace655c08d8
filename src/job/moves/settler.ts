/** Rows as they are declared before cells come into them that no move of their table sees: those of files. */

import { EntityMoves, EntityUpgrades, readMoved, unsettled } from '../../moves/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { type Engine, Get } from '../../table/index.js';
import { moverOf } from './move-columns.js';
import { upgraderOf } from './upgrade-rows.js';

/** Upgrades rows, or moves their columns, where they are of before. */
export type Settler = (rows: readonly Uint8Array[]) => Promise<void>;

/**
 * Undefined when no column of the entity has moved and none of its rows can be of an older version.
 * @throws UnsupportedError when columns of it move and its rows end.
 */
export function settlerOf(engine: Engine, schema: EntitySchema): Settler | undefined {
  const table = engine.table(schema.table.descriptor.name);
  if (schema.upgrades.length > 0) {
    const upgrade = upgraderOf(table, new EntityUpgrades(schema));
    return async (rows) => void (await upgrade(rows));
  }
  if (schema.columns.every(({ was }) => was.length === 0)) return undefined;
  const entity = new EntityMoves(schema);
  if (entity.ends) throw unsettled(table.name);
  const move = moverOf(table, entity);
  return async (rows) => {
    const found = await table.getAll(rows.map((row) => readMoved(new Get(row), [entity])));
    await move(found.filter(({ isEmpty }) => !isEmpty));
  };
}
