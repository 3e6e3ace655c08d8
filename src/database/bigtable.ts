import type { BigtableEngine } from '../bigtable/engine.js';
import { BIGTABLE_OPTIONS, type BigtableOptions } from '../bigtable/options.js';
import { type Database, start } from '../database.js';
import { checkOptions } from '../table/checks.js';
import {
  DATABASE_OPTIONS,
  type DatabaseOptions,
  type LintEvent,
  type OutboxEvent,
  prepare,
  type TablesEvent,
} from './options.js';

/** Options of `connectBigtable`. By default tables are checked, not created. */
export interface BigtableConnectOptions extends DatabaseOptions, BigtableOptions {
  /** Receives events: tables created or different from the declarations, lint findings, pending copies. */
  readonly onEvent?: (event: TablesEvent | LintEvent | OutboxEvent) => void;
}

const CONNECT_OPTIONS: Readonly<Record<keyof BigtableConnectOptions, true>> = {
  ...DATABASE_OPTIONS,
  ...BIGTABLE_OPTIONS,
};

/**
 * Connects to an instance of Google Cloud Bigtable (docs/bigtable.md).
 *
 * @example
 * ```ts
 * const db = await connectBigtable({ projectId: 'shop', instanceId: 'orders', entities: [Order] });
 * ```
 * @throws InvalidArgumentError on unknown options; SchemaError on wrong declarations, or declarations that contradict the
 * stored tables; UnsupportedError when `@google-cloud/bigtable` is not installed; RowanError `ERR_TABLE_NOT_FOUND`,
 * `ERR_CONNECTION`, `ERR_SECURITY`, `ERR_TIMEOUT`.
 */
export async function connectBigtable(options: BigtableConnectOptions): Promise<Database<BigtableEngine>> {
  checkOptions('connectBigtable', options, CONNECT_OPTIONS);
  const { entities, tables, onEvent, onQuery, cursorSecret, subscribers, log, ...bigtable } = options;
  const opening = prepare('connectBigtable', options, 'verify');
  const { connectBigtableEngine } = await import('../bigtable/engine.js');
  return start(opening, await connectBigtableEngine(bigtable));
}
