/** What the services of a server share. */

import { META_TABLE } from '../../hbase/region/region.js';
import type { ServerName } from '../../hbase/wire/messages-rpc.js';
import type { EmbeddedEngine } from '../../store/engine.js';
import type { ServedStore } from '../../store/serving.js';
import { JavaClass, refused, ServerException } from '../errors.js';
import type { CatalogTable } from '../regions/catalog-tables.js';
import { NAMESPACE_REGION } from '../regions/catalog-tables.js';
import { isMeta, type ServedRegions } from '../regions/served-regions.js';
import type { Load } from '../rpc/load.js';
import type { Grants } from '../security/users.js';
import type { Specifier } from '../wire/read-multi.js';
import type { Nonces } from './nonces.js';

/** What services ask of the store's engine. */
export type ServedEngine = Pick<EmbeddedEngine, 'table' | 'admin'>;

export interface ServerParts {
  readonly engine: ServedEngine;
  readonly store: ServedStore;
  readonly regions: ServedRegions;
  readonly meta: CatalogTable;
  readonly namespaces: CatalogTable;
  readonly nonces: Nonces;
  readonly load: Load;
  readonly clusterId: string;
  readonly server: ServerName;
  readonly startedAt: number;
  readonly settings: ServiceSettings;
  /** What they for whom the parts are may do; undefined: everything. */
  readonly grants?: Grants;
}

export interface ServiceSettings {
  /** Nothing is written, by nobody. */
  readonly readOnly: boolean;
  /** Milliseconds that a scanner lives without being asked. */
  readonly scannerLease: number;
  /** Scanners that may be open at once. */
  readonly maxScanners: number;
  /** Bytes after which an answer is cut, and the rest asked for again. */
  readonly maxAnswerSize: number;
}

/** The table of the catalog that a region is of, if it is of one. */
export function catalogTableOf(parts: ServerParts, region: Specifier): CatalogTable | undefined {
  if (isMeta(region)) return parts.meta;
  return Buffer.compare(region.value, NAMESPACE_REGION) === 0 ? parts.namespaces : undefined;
}

/** @throws ServerException where nothing may be changed: tables, or anything else. */
export function checkWritable(parts: ServerParts): void {
  if (parts.grants !== undefined) throw denied();
  checkTakesWrites(parts);
}

/** @throws ServerException where cells of a table may not be written. */
export function checkWritableTable(parts: ServerParts, table: string): void {
  if (parts.grants?.mayWrite(table) === false) throw denied();
  checkTakesWrites(parts);
}

function checkTakesWrites({ settings }: ServerParts): void {
  if (settings.readOnly) throw refused('This server is read only (--read-only): it takes no writes.');
}

/** The refusal of what is not granted. */
function denied(): ServerException {
  return new ServerException(
    JavaClass.AccessDenied,
    'This is not granted to you. Ask for it who has the file of users of this server.',
  );
}

/** The refusal of writes to what is made from the catalog. */
export function catalogIsReadOnly(table: CatalogTable): Error {
  const how =
    table.name === META_TABLE ? 'Create, alter and split tables instead.' : 'Create namespaces instead.';
  return refused(`${table.name} is made from the catalog and takes no writes. ${how}`);
}
