import { createHash } from 'node:crypto';
import {
  compareBytes,
  concatBytes,
  EMPTY_BYTES,
  fromLatin1,
  toLatin1,
  toStringBinary,
} from '../../bytes/index.js';
import type { Result } from '../../table/result.js';
import type { OperationStatistics } from '../observe/table-figures.js';
import { addressKey, type ServerAddress } from '../rpc/connection-settings.js';
import { ProtocolError } from '../rpc/errors.js';
import {
  RegionInfoMessage as RegionInfoCodec,
  type RegionInfoMessage,
  RegionSpecifier,
} from '../wire/messages-rpc.js';
import { decodeMessage, encodeMessage, type TypeOf } from '../wire/schema.js';

/** The catalog table. It has one region, whose location the registry knows. */
export const META_TABLE = 'hbase:meta';

const REGION_NAME = 1;

/** One replica of a region at its last known location. A move makes a new object. */
export class Region {
  /** "host:port". */
  readonly server: string;
  /** An encoded `RegionSpecifier`, to be copied into requests. */
  readonly specifier: Uint8Array;
  /** Every replica by its id, this one included; a hole where meta has no server for it. */
  replicas: readonly (Region | undefined)[] = [];
  /** What this client has done with the region: set by the first use. */
  statistics: OperationStatistics | undefined;

  constructor(
    /** Canonical table name. */
    readonly table: string,
    readonly startKey: Uint8Array,
    /** Empty: to the end of the table. */
    readonly endKey: Uint8Array,
    readonly regionId: number,
    readonly replicaId: number,
    /** The full region name. */
    readonly name: Uint8Array,
    readonly address: ServerAddress,
    readonly startCode: number,
    readonly seqNum: number,
  ) {
    this.server = addressKey(address);
    this.specifier = encodeMessage(RegionSpecifier, { type: REGION_NAME, value: name });
  }

  /** The same region at another location. */
  movedTo(address: ServerAddress, startCode: number, seqNum: number): Region {
    return new Region(
      this.table,
      this.startKey,
      this.endKey,
      this.regionId,
      this.replicaId,
      this.name,
      address,
      startCode,
      seqNum,
    );
  }

  /** Whether both locations are the same server process. */
  isAtSameServer({ server, startCode }: Region): boolean {
    return this.server === server && this.startCode === startCode;
  }

  toString(): string {
    return toStringBinary(this.name);
  }
}

/** The name of a region in a request. */
export function specifierOf(region: Region): TypeOf<typeof RegionSpecifier> {
  return { type: REGION_NAME, value: region.name };
}

/** The table's name in region names, without the default namespace. */
function tableNameOf(info: RegionInfoMessage): string {
  const qualifier = Buffer.from(info.tableName.qualifier).toString('utf8');
  const namespace = Buffer.from(info.tableName.namespace).toString('utf8');
  return namespace === 'default' ? qualifier : `${namespace}:${qualifier}`;
}

/**
 * `<table>,<startKey>,<regionId>[_<replica, four hex digits>].<md5 of that>.` (`RegionInfo.createRegionName`). The name of meta's
 * region has an older form, without the digest.
 */
export function regionNameOf(
  table: string,
  startKey: Uint8Array,
  regionId: number,
  replicaId = 0,
): Uint8Array {
  if (table === META_TABLE) return fromLatin1(`${META_TABLE},,${regionId}`);
  const replica = replicaId === 0 ? '' : `_${replicaId.toString(16).toUpperCase().padStart(4, '0')}`;
  const plain = concatBytes(Buffer.from(`${table},`, 'utf8'), startKey, fromLatin1(`,${regionId}${replica}`));
  const digest = createHash('md5').update(plain).digest('hex');
  return concatBytes(plain, fromLatin1(`.${digest}.`));
}

/** The name of the region of a row of meta, as HBase's own pages and logs show it. */
export function shownName({ table, startKey, info }: MetaRow): string {
  return toStringBinary(regionNameOf(table, startKey, info.regionId));
}

/** The encoded name of meta's region: a fixed number in place of a digest. */
const META_NAME = `${META_TABLE},,1`;
const META_ENCODED_NAME = '1588230740';
const REGION_NAME_FORM = /^[^,]+,.*,\d+(?:_[0-9A-F]{4})?\.([0-9a-f]{32})\.$/s;

/** The encoded name: the 32 hex digits between the last dots of a region name, or meta's number; undefined for an invalid name. */
export function encodedNameOf(name: Uint8Array): string | undefined {
  const text = Buffer.from(name).toString('latin1');
  return text === META_NAME ? META_ENCODED_NAME : REGION_NAME_FORM.exec(text)?.[1];
}

// — Rows of `hbase:meta` (`MetaTableAccessor`, `CatalogFamilyFormat`).

export const INFO = 'info';
const MAGIC = 'PBUF';

/** A region's row in meta. */
export interface MetaRow {
  readonly info: RegionInfoMessage;
  readonly table: string;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  /** Whether it was split; its daughters serve its rows. */
  readonly isSplitParent: boolean;
  /** `OPEN`, `CLOSED`, …, the master's state of the region; undefined when the row has none. */
  readonly state: string | undefined;
  /** The region with its replicas that have a server; undefined while the primary has none. */
  readonly region: Region | undefined;
}

/** Decodes a row of meta; undefined when it is not a region's. */
export function readMetaRow(result: Result): MetaRow | undefined {
  const encoded = result.getValue(INFO, 'regioninfo');
  if (encoded === undefined || encoded.length === 0) return undefined;
  const info = decodeRegionInfo(encoded);
  const table = tableNameOf(info);
  const startKey = info.startKey === undefined ? EMPTY_BYTES : Uint8Array.from(info.startKey);
  const endKey = info.endKey === undefined ? EMPTY_BYTES : Uint8Array.from(info.endKey);
  const replicas: (Region | undefined)[] = [];
  for (const replicaId of replicaIds(result)) {
    replicas[replicaId] = replicaOf(result, info, { table, startKey, endKey }, replicaId);
  }
  for (const replica of replicas) if (replica !== undefined) replica.replicas = replicas;
  const state = result.getValue(INFO, 'state');
  return {
    info,
    table,
    startKey,
    endKey,
    isSplitParent: info.split === true,
    state: state === undefined ? undefined : toLatin1(state),
    region: replicas[0],
  };
}

/** Versions that meta keeps of a region's row (`hbase.meta.versions`). */
export const META_VERSIONS = 3;
/** The states of a region whose server has died, newest first. One that is closed in good order is CLOSING and CLOSED between. */
const RECOVERED = ['OPEN', 'OPENING', 'OPEN'];

/**
 * Whether the region was open at `before`, was not closed there, and was opened next at `now`, at the first attempt: then `now` has
 * replayed the log of `before`. `row` is the region's row in meta with {@link META_VERSIONS} versions (`RegionStateStore`).
 */
export function isRecovered(row: Result, before: Region, now: Region): boolean {
  const states = row.getColumnCells(INFO, 'state');
  const servers = row.getColumnCells(INFO, 'server');
  const startCodes = row.getColumnCells(INFO, 'serverstartcode');
  const wasOpenAt = (region: Region, opening: number): boolean => {
    const address = addressOf(servers[opening]?.value);
    const startCode = longOf(startCodes[opening]?.value);
    return address !== undefined && addressKey(address) === region.server && startCode === region.startCode;
  };
  return (
    RECOVERED.every((state, n) => states[n] !== undefined && toLatin1(states[n].value) === state) &&
    wasOpenAt(now, 0) &&
    wasOpenAt(before, 1)
  );
}

/** `PBUF` and a `RegionInfo`. */
function decodeRegionInfo(encoded: Uint8Array): RegionInfoMessage {
  if (toLatin1(encoded.subarray(0, MAGIC.length)) !== MAGIC) {
    throw new ProtocolError('A row of hbase:meta has a regioninfo that is no protocol buffer.');
  }
  return decodeMessage(RegionInfoCodec, encoded, MAGIC.length);
}

function replicaIds(result: Result): number[] {
  const ids: number[] = [0];
  for (const cell of result.cells) {
    const match = /^server_([0-9A-F]{4})$/.exec(toLatin1(cell.qualifier));
    if (match !== null) ids.push(Number.parseInt(match[1]!, 16));
  }
  return ids;
}

function replicaOf(
  result: Result,
  info: RegionInfoMessage,
  at: { readonly table: string; readonly startKey: Uint8Array; readonly endKey: Uint8Array },
  replicaId: number,
): Region | undefined {
  const suffix = replicaId === 0 ? '' : `_${replicaId.toString(16).toUpperCase().padStart(4, '0')}`;
  const address = addressOf(result.getValue(INFO, `server${suffix}`));
  const startCode = longOf(result.getValue(INFO, `serverstartcode${suffix}`));
  if (address === undefined || startCode === undefined) return undefined;
  const name = regionNameOf(at.table, at.startKey, info.regionId, replicaId);
  const seqNum = longOf(result.getValue(INFO, `seqnumDuringOpen${suffix}`)) ?? -1;
  return new Region(
    at.table,
    at.startKey,
    at.endKey,
    info.regionId,
    replicaId,
    name,
    address,
    startCode,
    seqNum,
  );
}

function addressOf(value: Uint8Array | undefined): ServerAddress | undefined {
  if (value === undefined || value.length === 0) return undefined;
  const text = toLatin1(value);
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  if (colon < 1 || !Number.isInteger(port) || port < 1 || port > 65535) return undefined;
  return { host: text.slice(0, colon), port };
}

function longOf(value: Uint8Array | undefined): number | undefined {
  if (value === undefined || value.length !== 8) return undefined;
  return Number(new DataView(value.buffer, value.byteOffset, 8).getBigInt64(0));
}

const COMMA = 0x2c;

/** The order of `hbase:meta`'s rows (`MetaCellComparator`): by table, then start key, then id. */
export function compareMetaRows(a: Uint8Array, b: Uint8Array): number {
  const firstA = a.indexOf(COMMA);
  const firstB = b.indexOf(COMMA);
  const table = compareBytes(firstA < 0 ? a : a.subarray(0, firstA), firstB < 0 ? b : b.subarray(0, firstB));
  if (table !== 0) return table;
  if (firstA < 0 || firstB < 0) return (firstA < 0 ? 0 : 1) - (firstB < 0 ? 0 : 1);
  const lastA = a.lastIndexOf(COMMA);
  const lastB = b.lastIndexOf(COMMA);
  const start = compareBytes(
    lastA > firstA ? a.subarray(firstA + 1, lastA) : a.subarray(firstA + 1),
    lastB > firstB ? b.subarray(firstB + 1, lastB) : b.subarray(firstB + 1),
  );
  if (start !== 0) return start;
  const hasIdA = lastA > firstA;
  const hasIdB = lastB > firstB;
  if (!hasIdA || !hasIdB) return (hasIdA ? 1 : 0) - (hasIdB ? 1 : 0);
  return compareBytes(a.subarray(lastA + 1), b.subarray(lastB + 1));
}
