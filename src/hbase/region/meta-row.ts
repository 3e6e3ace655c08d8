/** Rows of `hbase:meta` (`MetaTableAccessor`, `CatalogFamilyFormat`). */

import { EMPTY_BYTES, toLatin1 } from '../../bytes/index.js';
import type { Result } from '../../table/result.js';
import type { ServerAddress } from '../rpc/address.js';
import { ProtocolError } from '../rpc/errors.js';
import { RegionInfoMessage as RegionInfoCodec, type RegionInfoMessage } from '../wire/messages-rpc.js';
import { decodeMessage } from '../wire/schema.js';
import { Region, regionNameOf, tableNameOf } from './region.js';

export const INFO = 'info';
const MAGIC = 'PBUF';

/** What a row of meta says. */
export interface MetaRow {
  readonly info: RegionInfoMessage;
  readonly table: string;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  /** Divided already: its daughters stand in for it. */
  readonly isSplitParent: boolean;
  /** `OPEN`, `CLOSED`, … as the master has it; undefined when the row does not say. */
  readonly state: string | undefined;
  /** The region with its replicas where they have a server; undefined while the primary has none. */
  readonly region: Region | undefined;
}

/** Reads a row of meta; undefined when it is no region's. */
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

/** `PBUF` and a `RegionInfo`. */
export function decodeRegionInfo(encoded: Uint8Array): RegionInfoMessage {
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
