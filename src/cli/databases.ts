/** Databases of a user's entities that commands work on. */

import { connect, type Database, type OpenOptions, open } from '../database.js';
import type { Schema } from '../schema/index.js';
import { mastersOf, requireStore } from './engines.js';

/**
 * Opens the entities of a module at a place, runs `use`, and closes it. The store has to be there unless it may be made.
 * `tables`: default `create` in a store, `verify` on HBase.
 */
export async function withDatabase<T>(
  place: string,
  schema: Schema,
  { tables, mayMake = false }: { tables?: OpenOptions['tables']; mayMake?: boolean },
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const entities = schema.entities.map(({ target }) => target);
  const masters = mastersOf(place);
  if (masters === undefined && !mayMake) requireStore(place);
  const db: Database =
    masters === undefined
      ? await open({ path: place, entities, tables: tables ?? 'create' })
      : await connect({ masters, entities, ...(tables !== undefined && { tables }) });
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}
