/** The parts that the services of a server share. */

import { META_TABLE } from '../../hbase/region/region.js';
import type { ServerName } from '../../hbase/wire/messages-rpc.js';
import type { EmbeddedEngine } from '../../store/engine.js';
import type { ServedStore, TableState } from '../../store/serving.js';
import type { Scan, SyncTable } from '../../table/index.js';
import { JavaClass, refused, ServerException } from '../errors.js';
import { NAMESPACE_REGION } from '../regions/catalog-rows.js';
import type { CatalogTable, RegionRows } from '../regions/catalog-tables.js';
import { isMeta, type ServedRegions } from '../regions/served-regions.js';
import type { Load } from '../rpc/load.js';
import type { Grants } from '../security/users.js';
import type { Specifier } from '../wire/read-calls.js';
import type { Nonces } from './nonces.js';

/** The part of the engine that services use. */
type ServedEngine = Pick<EmbeddedEngine, 'table' | 'admin' | 'bulkLoad' | 'transaction'>;

/** The rows that a request may address: a region, or in a transaction a whole table. */
export interface RowPlace {
  readonly state: TableState;
  readonly region: { contains(row: Uint8Array): boolean };
  /** As requests name it. */
  readonly name: Uint8Array;
}

/** The data that reads and changes of rows use: the store, or the view of one transaction. */
export interface RowParts {
  readonly engine: { table(name: string): SyncTable };
  readonly store: {
    readonly readPoint: number;
    table(name: string): TableState | undefined;
    scanRegion(state: TableState, region: RowPlace['region'], scan: Scan): RegionRows;
  };
  readonly regions: { open(specifier: Specifier): RowPlace };
  readonly meta: CatalogTable;
  readonly namespaces: CatalogTable;
  readonly nonces: Pick<Nonces, 'apply'>;
  readonly settings: ServiceSettings;
  /** The permissions of the user for whom these parts are; undefined: all. */
  readonly grants?: Grants;
}

export interface ServerParts extends RowParts {
  readonly engine: ServedEngine;
  readonly store: ServedStore;
  readonly regions: ServedRegions;
  readonly nonces: Nonces;
  readonly load: Load;
  readonly clusterId: string;
  readonly server: ServerName;
  readonly startedAt: number;
}

export interface ServiceSettings {
  /** Whether all writes are refused. */
  readonly readOnly: boolean;
  /** The folder whose files may be loaded; undefined: none. */
  readonly bulkLoad: string | undefined;
  /** Milliseconds without a call after which a scanner is closed. */
  readonly scannerLease: number;
  /** Scanners that may be open at once. */
  readonly maxScanners: number;
  /** Bytes after which a response is cut; the client requests the rest. */
  readonly maxAnswerSize: number;
  /** Transactions that may be open at once. */
  readonly maxTransactions: number;
  /** Bytes that the writes of all open transactions may have. */
  readonly maxTransactionBytes: number;
  /** Milliseconds without a call after which an open transaction is ended. */
  readonly transactionLease: number;
}

/** The catalog table that a region belongs to, if any. */
export function catalogTableOf(
  parts: Pick<RowParts, 'meta' | 'namespaces'>,
  region: Specifier,
): CatalogTable | undefined {
  if (isMeta(region)) return parts.meta;
  return Buffer.compare(region.value, NAMESPACE_REGION) === 0 ? parts.namespaces : undefined;
}

/**
 * Checks that changes are allowed at all.
 * @throws ServerException when they are not.
 */
export function checkWritable(parts: ServerParts): void {
  if (parts.grants !== undefined) throw denied();
  checkTakesWrites(parts);
}

/**
 * Checks that cells of a table may be written.
 * @throws ServerException when they may not.
 */
export function checkWritableTable(parts: Pick<RowParts, 'grants' | 'settings'>, table: string): void {
  if (parts.grants?.mayWrite(table) === false) throw denied();
  checkTakesWrites(parts);
}

function checkTakesWrites({ settings }: Pick<RowParts, 'settings'>): void {
  if (settings.readOnly) throw refused('This server is read only (--read-only): it refuses writes.');
}

/** The error for missing permission. */
function denied(): ServerException {
  return new ServerException(
    JavaClass.AccessDenied,
    'Permission denied. Ask the administrator of this server to add it to the users file.',
  );
}

/** The error for writes to a derived catalog table. */
export function catalogIsReadOnly(table: CatalogTable): Error {
  const how =
    table.name === META_TABLE ? 'Create, alter and split tables instead.' : 'Create namespaces instead.';
  return refused(`${table.name} is derived from the catalog and cannot be written. ${how}`);
}
