import { existsSync } from 'node:fs';
import { connect, type Database, type OpenOptions, open } from '../database.js';
import { InvalidArgumentError } from '../errors.js';
import type { Schema } from '../schema/index.js';
import type { Engine } from '../table/index.js';

/** Engines that commands work on, as the command line names them. */

/**
 * Opens `hbase:host:port,host:port` (masters) or the folder of an embedded store, which has to be there unless it may be
 * made.
 */
export async function openEngine(place: string, mayMake = false): Promise<Engine> {
  const masters = mastersOf(place);
  if (masters !== undefined) {
    const { connectHBase } = await import('../hbase/engine.js');
    return connectHBase({ masters });
  }
  if (!mayMake) requireStore(place);
  const { openEmbedded } = await import('../store/engine.js');
  return openEmbedded(place);
}

/** The masters that a place names; undefined for the folder of a store. @throws InvalidArgumentError when there are none. */
export function mastersOf(place: string): string[] | undefined {
  if (!place.startsWith('hbase:')) return undefined;
  const masters = place.slice('hbase:'.length).split(',').filter(Boolean);
  if (masters.length > 0) return masters;
  throw new InvalidArgumentError(`"${place}" names no master. Write hbase:host:16000,host:16000.`);
}

/** @throws InvalidArgumentError when there is no such folder. */
export function requireStore(place: string): void {
  if (existsSync(place)) return;
  throw new InvalidArgumentError(
    `There is no store in "${place}". Give the folder of a store, or hbase:host:port for an HBase.`,
  );
}

/** Runs `use` with engines that are closed afterwards; places that are the same are opened once. */
export async function withEngines(
  places: readonly { readonly place: string; readonly mayMake?: boolean }[],
  use: (engines: readonly Engine[]) => Promise<unknown>,
): Promise<void> {
  const opened = new Map<string, Engine>();
  try {
    const engines: Engine[] = [];
    for (const { place, mayMake } of places) {
      const engine = opened.get(place) ?? (await openEngine(place, mayMake));
      opened.set(place, engine);
      engines.push(engine);
    }
    await use(engines);
  } finally {
    for (const engine of opened.values()) await engine.close();
  }
}

/** Databases of a user's entities that commands work on. */

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
