/** `RPC.proto`, `HBase.proto`, `Registry.proto`: headers, names and locations. */

import {
  bool,
  bytes,
  int32,
  int64,
  message,
  nested,
  repeated,
  required,
  string,
  type TypeOf,
  uint32,
  uint64,
} from './schema.js';

const UserInformation = message('UserInformation', {
  effectiveUser: required(string(1)),
  realUser: string(2),
});

const VersionInfo = message('VersionInfo', {
  version: required(string(1)),
  url: required(string(2)),
  revision: required(string(3)),
  user: required(string(4)),
  date: required(string(5)),
  srcChecksum: required(string(6)),
  versionMajor: uint32(7),
  versionMinor: uint32(8),
});

export const NameBytesPair = message('NameBytesPair', { name: required(string(1)), value: bytes(2) });

export const ConnectionHeader = message('ConnectionHeader', {
  userInfo: nested(1, UserInformation),
  serviceName: string(2),
  cellBlockCodecClass: string(3),
  cellBlockCompressorClass: string(4),
  versionInfo: nested(5, VersionInfo),
  /** Since 2.6. */
  attribute: repeated(nested(7, NameBytesPair)),
});

const CellBlockMeta = message('CellBlockMeta', { length: uint32(1) });

export const ExceptionResponse = message('ExceptionResponse', {
  exceptionClassName: string(1),
  stackTrace: string(2),
  hostname: string(3),
  port: int32(4),
  doNotRetry: bool(5),
  serverOverloaded: bool(6),
});
export type ExceptionResponse = TypeOf<typeof ExceptionResponse>;

export const RequestHeader = message('RequestHeader', {
  callId: uint32(1),
  methodName: string(3),
  requestParam: bool(4),
  cellBlockMeta: nested(5, CellBlockMeta),
  priority: uint32(6),
  timeout: uint32(7),
  /** Since 2.6. */
  attribute: repeated(nested(8, NameBytesPair)),
});

export const ResponseHeader = message('ResponseHeader', {
  callId: uint32(1),
  exception: nested(2, ExceptionResponse),
  cellBlockMeta: nested(3, CellBlockMeta),
});

export const NameStringPair = message('NameStringPair', {
  name: required(string(1)),
  value: required(string(2)),
});
export const BytesBytesPair = message('BytesBytesPair', {
  first: required(bytes(1)),
  second: required(bytes(2)),
});

export const TableNameMessage = message('TableName', {
  namespace: required(bytes(1)),
  qualifier: required(bytes(2)),
});
export type TableNameMessage = TypeOf<typeof TableNameMessage>;

export const ServerName = message('ServerName', {
  hostName: required(string(1)),
  port: uint32(2),
  startCode: uint64(3),
});
export type ServerName = TypeOf<typeof ServerName>;

/** Type 1: full region name; type 2: the encoded name, 32 hex digits. */
export const RegionSpecifier = message('RegionSpecifier', {
  type: required(int32(1)),
  value: required(bytes(2)),
});

export const RegionInfoMessage = message('RegionInfo', {
  regionId: required(uint64(1)),
  tableName: required(nested(2, TableNameMessage)),
  startKey: bytes(3),
  endKey: bytes(4),
  offline: bool(5),
  split: bool(6),
  replicaId: int32(7),
});
export type RegionInfoMessage = TypeOf<typeof RegionInfoMessage>;

export const RegionLocationMessage = message('RegionLocation', {
  regionInfo: required(nested(1, RegionInfoMessage)),
  serverName: nested(2, ServerName),
  seqNum: required(int64(3)),
});

/** Also the znode `hbaseid`. */
export const GetClusterIdResponse = message('GetClusterIdResponse', {
  clusterId: string(1),
  /** Not of HBase: whether the server offers `RowanTransactionService`. HBase's clients skip unknown fields. */
  rowanTransactions: bool(20_230),
});
export const GetActiveMasterResponse = message('GetActiveMasterResponse', {
  serverName: nested(1, ServerName),
});
export const GetMetaRegionLocationsResponse = message('GetMetaRegionLocationsResponse', {
  metaLocations: repeated(nested(1, RegionLocationMessage)),
});
export const GetBootstrapNodesResponse = message('GetBootstrapNodesResponse', {
  serverName: repeated(nested(1, ServerName)),
});

/** ZooKeeper's records of the active master and of meta's servers. */
export const MasterNode = message('Master', { master: required(nested(1, ServerName)) });
export const MetaRegionServerNode = message('MetaRegionServer', {
  server: required(nested(1, ServerName)),
  state: int32(3),
});
