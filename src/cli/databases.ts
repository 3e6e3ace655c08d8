import type { Database, OpenOptions } from '../database.js';
import { errnoOf, InvalidArgumentError, RowanError } from '../errors.js';
import type { Schema } from '../schema/index.js';
import type { StoreMoment } from '../store/read-only/follower.js';
import type { Engine } from '../table/index.js';
import type { CliContext } from './context.js';
import { encryptionFromEnvironment } from './encryption.js';

// — Opens engines by place, as the command line names them.

/**
 * Opens `hbase:host:port,host:port` (masters), `bigtable:project/instance` or the folder of an embedded store. The
 * store must exist unless `create` is set.
 */
export async function openEngine(
  place: string,
  { mayMake = false, readOnly }: Pick<EngineTarget, 'mayMake' | 'readOnly'> = {},
): Promise<Engine> {
  const masters = mastersOf(place);
  if (masters !== undefined) {
    const { connectHBase } = await import('../hbase/engine.js');
    return connectHBase({ masters });
  }
  const instance = instanceOf(place);
  if (instance !== undefined) {
    const { connectBigtableEngine } = await import('../bigtable/engine.js');
    return connectBigtableEngine(instance);
  }
  if (!mayMake) await requireStoreAt(place);
  const { openEmbedded } = await import('../store/engine.js');
  if (readOnly?.always !== true) {
    try {
      return await openEmbedded(place, encryptionFromEnvironment());
    } catch (error) {
      if (readOnly === undefined || !isReadable(error)) throw error;
    }
  }
  const { openReadOnly } = await import('../store/read-only/read-only-store.js');
  const store = await openReadOnly(place, {
    ...encryptionFromEnvironment(),
    ...(readOnly.refreshEvery !== undefined && { refreshEvery: readOnly.refreshEvery }),
  });
  tellMoment(store.moment, readOnly);
  return store;
}

/** The place of an engine, and how it is opened. */
export interface EngineTarget {
  readonly place: string;
  readonly mayMake?: boolean;
  /**
   * Set if the command only reads. A store that another process has open, or that this one may not write, is then
   * opened read-only, and the user is notified.
   */
  readonly readOnly?: ReadOnlyUse;
}

export interface ReadOnlyUse {
  /** Whether a store is opened read-only though no process has it open, so that one can open it later. */
  readonly always?: true;
  /** Milliseconds between refreshes of the data; undefined: the command reads one consistent moment. */
  readonly refreshEvery?: number;
  tell(line: string): void;
}

/** For commands that only read: the notice about a store in use goes to standard error, apart from the output. */
export function looking(context: CliContext): ReadOnlyUse {
  return { tell: context.writeError };
}

/** Whether the store is open elsewhere, or may not be written: it can be read all the same. */
function isReadable(error: unknown): boolean {
  if (!(error instanceof RowanError)) return false;
  return error.code === 'ERR_LOCKED' || (error.code === 'ERR_IO' && MAY_NOT_WRITE.has(errnoOf(error)));
}

const MAY_NOT_WRITE = new Set(['EACCES', 'EPERM', 'EROFS']);

function tellMoment(moment: StoreMoment, { always, refreshEvery, tell }: ReadOnlyUse): void {
  if (always === true && moment.opener === undefined) return;
  tell(describeMoment(moment, refreshEvery !== undefined));
}

/** Describes the moment at which a store in use is read. */
export function describeMoment({ time, opener }: StoreMoment, goesOn = false): string {
  const at = new Date(time).toISOString();
  const by = opener === undefined ? '' : `In use by process ${opener}; `;
  return goesOn ? `${by}read only, followed from ${at} on.\n` : `${by}read as it was at ${at}.\n`;
}

/**
 * Returns the masters of a place `hbase:…`; undefined for other places. @throws InvalidArgumentError when there are
 * none.
 */
function mastersOf(place: string): string[] | undefined {
  if (!place.startsWith('hbase:')) return undefined;
  const masters = place.slice('hbase:'.length).split(',').filter(Boolean);
  if (masters.length > 0) return masters;
  throw new InvalidArgumentError(`"${place}" names no master. Write hbase:host:16000,host:16000.`);
}

/** An instance of Bigtable. */
interface InstancePlace {
  readonly projectId: string;
  readonly instanceId: string;
  readonly appProfileId?: string;
}

/**
 * The instance in `bigtable:project/instance` or `bigtable:project/instance/app-profile`; undefined for other places.
 * @throws InvalidArgumentError when it is incomplete.
 */
function instanceOf(place: string): InstancePlace | undefined {
  if (!place.startsWith('bigtable:')) return undefined;
  const [projectId, instanceId, appProfileId, ...more] = place.slice('bigtable:'.length).split('/');
  if (projectId && instanceId && appProfileId !== '' && more.length === 0)
    return { projectId, instanceId, ...(appProfileId !== undefined && { appProfileId }) };
  throw new InvalidArgumentError(`"${place}" names no instance. Write bigtable:project/instance.`);
}

/**
 * Whether a place is a server, which processes can share, and not the folder of a store. @throws InvalidArgumentError.
 */
export function isServer(place: string): boolean {
  return mastersOf(place) !== undefined || instanceOf(place) !== undefined;
}

/** Checks that a folder has a store. @throws RowanError `ERR_NOT_A_STORE`; CorruptionError. */
export async function requireStoreAt(
  place: string,
  advice = 'Use the folder of a store, hbase:host:port, or bigtable:project/instance.',
): Promise<void> {
  const [{ NodeFileSystem }, { requireStore }] = await Promise.all([
    import('../store/fs/index.js'),
    import('../store/manifest/index.js'),
  ]);
  requireStore(new NodeFileSystem(), place, advice);
}

/** Runs `use` with engines, and closes them afterwards. Equal places are opened once. */
export async function withEngines(
  places: readonly EngineTarget[],
  use: (engines: readonly Engine[]) => Promise<unknown>,
): Promise<void> {
  const opened = new Map<string, Engine>();
  try {
    const engines: Engine[] = [];
    for (const { place, ...how } of places) {
      const engine = opened.get(place) ?? (await openEngine(place, how));
      opened.set(place, engine);
      engines.push(engine);
    }
    await use(engines);
  } finally {
    for (const engine of opened.values()) await engine.close();
  }
}

// — Opens databases of a user's entities.

/**
 * Opens the entities of a module at a place, runs `use`, and closes the database. The store must exist unless `create`
 * is set.
 * `tables`: default `create` for a store, `verify` on HBase and Bigtable.
 */
export async function withDatabase<T>(
  place: string,
  schema: Schema,
  { tables, ...how }: { tables?: OpenOptions['tables'] } & Omit<EngineTarget, 'place'>,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const entities = schema.entities.map(({ target }) => target);
  const db = await databaseAt(place, { entities, ...(tables !== undefined && { tables }) }, how);
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}

/** Opens entities at a place: as {@link openEngine} does. */
export async function databaseAt(
  place: string,
  options: Pick<OpenOptions, 'entities' | 'tables'>,
  { mayMake = false, readOnly }: Omit<EngineTarget, 'place'> = {},
): Promise<Database> {
  const { connect, open } = await import('../database.js');
  const masters = mastersOf(place);
  if (masters !== undefined) return connect({ masters, ...options });
  const instance = instanceOf(place);
  if (instance !== undefined) {
    const { connectBigtable } = await import('../database/bigtable.js');
    return connectBigtable({ ...instance, ...options });
  }
  if (!mayMake) await requireStoreAt(place);
  const store = { path: place, ...encryptionFromEnvironment(), ...options };
  if (readOnly?.always !== true) {
    try {
      return await open({ tables: 'create', ...store });
    } catch (error) {
      if (readOnly === undefined || !isReadable(error)) throw error;
    }
  }
  const { refreshEvery } = readOnly;
  const db = await open({ ...store, readOnly: true, ...(refreshEvery !== undefined && { refreshEvery }) });
  tellMoment(db.engine.moment, readOnly);
  return db;
}
