/** The composition root: opens declared entities on an engine. The layers below do not depend on the engine. */

import { Database, wiringOf } from './database/database.js';
import {
  CONNECT_OPTIONS,
  type ConnectOptions,
  checkPath,
  isReadOnly,
  OPEN_OPTIONS,
  type Opening,
  type OpenOptions,
  prepare,
} from './database/options.js';
import type { HBaseEngine } from './hbase/engine.js';
import type { EmbeddedEngine } from './store/engine.js';
import type { ReadOnlyStore } from './store/read-only/read-only-store.js';
import { checkOptions } from './table/checks.js';
import type { Engine } from './table/index.js';
import { checkTelemetry, type TelemetryApi } from './table/telemetry.js';

export { Database } from './database/database.js';
export type { BacklogOptions, Health, HealthOptions, TableHealth } from './database/health.js';
export type { ConnectOptions, OpenOptions, TableHandling } from './database/options.js';

/**
 * Opens the embedded store in a folder. It needs no server; one process at a time may write. With `readOnly` the
 * store is only read, also while another process has it open for writing.
 * @throws InvalidArgumentError on unknown options; SchemaError on wrong declarations, or declarations that contradict
 *   the stored tables; RowanError `ERR_LOCKED` when another process has the store, `ERR_NOT_A_STORE`,
 *   `ERR_FORMAT_VERSION`, `ERR_CORRUPTION`, `ERR_IO`.
 */
export function open(options: OpenOptions & { readonly readOnly: true }): Promise<Database<ReadOnlyStore>>;
export function open(options: OpenOptions & { readonly readOnly?: false }): Promise<Database<EmbeddedEngine>>;
export function open(options: OpenOptions): Promise<Database<EmbeddedEngine | ReadOnlyStore>>;
export async function open(options: OpenOptions): Promise<Database<EmbeddedEngine | ReadOnlyStore>> {
  checkOptions('open', options, OPEN_OPTIONS);
  const {
    path,
    entities,
    tables,
    onQuery,
    cursorSecret,
    subscribers,
    log,
    telemetry,
    readOnly,
    refreshEvery,
    ...embedded
  } = options;
  checkPath('open', path);
  checkTelemetry(telemetry);
  if (isReadOnly('open', options)) {
    const opening = prepare('open', options, 'verify');
    const { openReadOnly } = await import('./store/read-only/read-only-store.js');
    const reading = refreshEvery === undefined ? embedded : { ...embedded, refreshEvery };
    return withTelemetry(await start(opening, await openReadOnly(path, reading)), telemetry);
  }
  const opening = prepare('open', options, 'create');
  const { openEmbedded } = await import('./store/engine.js');
  return withTelemetry(await start(opening, await openEmbedded(path, embedded)), telemetry);
}

/** Connects the database to OpenTelemetry. HBase's engine reports its operations itself. */
async function withTelemetry<E extends EmbeddedEngine | ReadOnlyStore | HBaseEngine>(
  database: Database<E>,
  telemetry: TelemetryApi | undefined,
): Promise<Database<E>> {
  if (telemetry === undefined) return database;
  const { reportBacklog, reportStoreTelemetry } = await import('./database/store-telemetry.js');
  const { engine } = database;
  const wiring = wiringOf(database);
  if (!('debugState' in engine))
    wiring.endings.push(reportStoreTelemetry(telemetry, wiring.operations, engine));
  const system = 'debugState' in engine ? 'hbase' : 'rowan';
  wiring.endings.push(await reportBacklog(telemetry, system, (limit) => wiring.features.backlog(limit)));
  return database;
}

/**
 * Connects to an HBase cluster.
 * @throws InvalidArgumentError and SchemaError as {@link open}; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_CONNECTION`,
 * `ERR_SECURITY`, `ERR_TIMEOUT`.
 */
export async function connect(options: ConnectOptions): Promise<Database<HBaseEngine>> {
  checkOptions('connect', options, CONNECT_OPTIONS);
  const { entities, tables, onEvent, onQuery, cursorSecret, subscribers, log, ...hbase } = options;
  const opening = prepare('connect', options, 'verify');
  const { connectHBase } = await import('./hbase/engine.js');
  const engine = await connectHBase(onEvent === undefined ? hbase : { ...hbase, onEvent });
  return withTelemetry(await start(opening, engine), hbase.telemetry);
}

/** Opens entities on an engine. Closes the engine on failure. */
export async function start<E extends Engine>(opening: Opening, engine: E): Promise<Database<E>> {
  try {
    const database = new Database(opening.schema, engine, opening.tables, opening.onEvent, opening.reading);
    if (opening.log !== undefined) database.on('query', opening.log);
    await database.ready();
    return database;
  } catch (error) {
    await engine.close();
    throw error;
  }
}
