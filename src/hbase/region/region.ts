import { createHash } from 'node:crypto';
import { concatBytes, fromLatin1, toStringBinary } from '../../bytes/index.js';
import { addressKey, type ServerAddress } from '../rpc/address.js';
import { type RegionInfoMessage, RegionSpecifier } from '../wire/messages-rpc.js';
import { encodeMessage, type TypeOf } from '../wire/schema.js';

/** The table of regions. It has one region, whose place the registry knows. */
export const META_TABLE = 'hbase:meta';

const REGION_NAME = 1;

/** One replica of a region, at the place where it was last seen. Immutable: a move makes a new one. */
export class Region {
  /** "host:port". */
  readonly server: string;
  /** A whole `RegionSpecifier`, ready to be copied into requests. */
  readonly specifier: Uint8Array;
  /** Every replica by its id, this one too; holes where meta knows no server. */
  replicas: readonly (Region | undefined)[] = [];

  constructor(
    /** Canonical table name. */
    readonly table: string,
    readonly startKey: Uint8Array,
    /** Empty: to the end of the table. */
    readonly endKey: Uint8Array,
    readonly regionId: number,
    readonly replicaId: number,
    /** The full name, by which servers know it. */
    readonly name: Uint8Array,
    readonly address: ServerAddress,
    readonly startCode: number,
    readonly seqNum: number,
  ) {
    this.server = addressKey(address);
    this.specifier = encodeMessage(RegionSpecifier, { type: REGION_NAME, value: name });
  }

  /** The same region elsewhere. */
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

  toString(): string {
    return toStringBinary(this.name);
  }
}

/** How a request names a region. */
export function specifierOf(region: Region): TypeOf<typeof RegionSpecifier> {
  return { type: REGION_NAME, value: region.name };
}

/** The table part of region names and the table's name to us: the default namespace is left out. */
export function tableNameOf(info: RegionInfoMessage): string {
  const qualifier = Buffer.from(info.tableName.qualifier).toString('utf8');
  const namespace = Buffer.from(info.tableName.namespace).toString('utf8');
  return namespace === 'default' ? qualifier : `${namespace}:${qualifier}`;
}

/**
 * `<table>,<startKey>,<regionId>[_<replica, four hex digits>].<md5 of that>.` (`RegionInfo.createRegionName`). Meta's is
 * of an older form, without the digest.
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

/** Meta's region has a fixed number where others have the digest of their name. */
const META_NAME = `${META_TABLE},,1`;
const META_ENCODED_NAME = '1588230740';
const REGION_NAME_FORM = /^[^,]+,.*,\d+(?:_[0-9A-F]{4})?\.([0-9a-f]{32})\.$/s;

/** The 32 hex digits between the last dots of a region name; meta's number for meta's; undefined for what is no name. */
export function encodedNameOf(name: Uint8Array): string | undefined {
  const text = Buffer.from(name).toString('latin1');
  return text === META_NAME ? META_ENCODED_NAME : REGION_NAME_FORM.exec(text)?.[1];
}
