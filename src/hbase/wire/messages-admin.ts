/** The messages of `Master.proto`, `Admin.proto`, `ClusterStatus.proto` and `Snapshot.proto` that the admin uses. */

import {
  BytesBytesPair,
  NameStringPair,
  RegionInfoMessage,
  RegionSpecifier,
  ServerName,
  TableNameMessage,
} from './messages-rpc.js';
import {
  bigUint64,
  bool,
  bytes,
  type Field,
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

const tableName = required(nested(1, TableNameMessage));

/** The nonces of every request that changes something, by which the master recognizes a retry. */
const nonces = (
  group: number,
): { nonceGroup: Field<bigint, 'optional'>; nonce: Field<bigint, 'optional'> } => ({
  nonceGroup: bigUint64(group),
  nonce: bigUint64(group + 1),
});

/** 0 enabled, 1 disabled, 2 disabling, 3 enabling. */
export const TableStateMessage = message('TableState', { state: required(int32(1)) });

export const ColumnFamilySchema = message('ColumnFamilySchema', {
  name: required(bytes(1)),
  attributes: repeated(nested(2, BytesBytesPair)),
  configuration: repeated(nested(3, NameStringPair)),
});
export type ColumnFamilySchema = TypeOf<typeof ColumnFamilySchema>;

export const TableSchema = message('TableSchema', {
  tableName: nested(1, TableNameMessage),
  attributes: repeated(nested(2, BytesBytesPair)),
  columnFamilies: repeated(nested(3, ColumnFamilySchema)),
  configuration: repeated(nested(4, NameStringPair)),
});
export type TableSchema = TypeOf<typeof TableSchema>;

export const CreateTableRequest = message('CreateTableRequest', {
  tableSchema: required(nested(1, TableSchema)),
  splitKeys: repeated(bytes(2)),
  ...nonces(3),
});
export const ModifyTableRequest = message('ModifyTableRequest', {
  tableName,
  tableSchema: required(nested(2, TableSchema)),
  ...nonces(3),
});
/** `DeleteTableRequest`, `EnableTableRequest`, `DisableTableRequest`. */
export const TableRequest = message('TableRequest', { tableName, ...nonces(2) });
export const TruncateTableRequest = message('TruncateTableRequest', {
  tableName,
  preserveSplits: bool(2),
  ...nonces(3),
});
export const NamespaceDescriptor = message('NamespaceDescriptor', {
  name: required(bytes(1)),
  configuration: repeated(nested(2, NameStringPair)),
});
export const CreateNamespaceRequest = message('CreateNamespaceRequest', {
  namespaceDescriptor: required(nested(1, NamespaceDescriptor)),
  ...nonces(2),
});
export const ModifyNamespaceRequest = message('ModifyNamespaceRequest', {
  namespaceDescriptor: required(nested(1, NamespaceDescriptor)),
  ...nonces(2),
});
export const GetNamespaceDescriptorRequest = message('GetNamespaceDescriptorRequest', {
  namespaceName: required(string(1)),
});
export const GetNamespaceDescriptorResponse = message('GetNamespaceDescriptorResponse', {
  namespaceDescriptor: required(nested(1, NamespaceDescriptor)),
});
export const DeleteNamespaceRequest = message('DeleteNamespaceRequest', {
  namespaceName: required(string(1)),
  ...nonces(2),
});
export const ListNamespacesResponse = message('ListNamespacesResponse', {
  namespaceName: repeated(string(1)),
});

/** The answer of requests that start a procedure: its id. */
export const ProcedureResponse = message('ProcedureResponse', { procId: uint64(1) });

export const GetTableDescriptorsRequest = message('GetTableDescriptorsRequest', {
  tableNames: repeated(nested(1, TableNameMessage)),
  regex: string(2),
  includeSystemTables: bool(3),
  namespace: string(4),
});
export const GetTableDescriptorsResponse = message('GetTableDescriptorsResponse', {
  tableSchema: repeated(nested(1, TableSchema)),
});
export const GetTableStateRequest = message('GetTableStateRequest', { tableName });
export const GetTableStateResponse = message('GetTableStateResponse', {
  tableState: required(nested(1, TableStateMessage)),
});

export const GenericException = message('GenericExceptionMessage', {
  className: string(1),
  message: string(2),
});
export const ForeignException = message('ForeignExceptionMessage', {
  source: string(1),
  genericException: nested(2, GenericException),
});
export const GetProcedureResultRequest = message('GetProcedureResultRequest', {
  procId: required(uint64(1)),
});
/** State 0 not found, 1 running, 2 finished. */
export const GetProcedureResultResponse = message('GetProcedureResultResponse', {
  state: required(int32(1)),
  exception: nested(5, ForeignException),
});

export const FlushRegionRequest = message('FlushRegionRequest', {
  region: required(nested(1, RegionSpecifier)),
  family: bytes(4),
});
export const CompactRegionRequest = message('CompactRegionRequest', {
  region: required(nested(1, RegionSpecifier)),
  major: bool(2),
  family: bytes(3),
});
export const GetRegionInfoRequest = message('GetRegionInfoRequest', {
  region: required(nested(1, RegionSpecifier)),
  compactionState: bool(2),
  bestSplitRow: bool(3),
});
/** Compaction state 0 none, 1 minor, 2 major, 3 both. */
export const GetRegionInfoResponse = message('GetRegionInfoResponse', {
  regionInfo: required(nested(1, RegionInfoMessage)),
  compactionState: int32(2),
  splittable: bool(4),
  bestSplitRow: bytes(6),
});
export const SplitTableRegionRequest = message('SplitTableRegionRequest', {
  regionInfo: required(nested(1, RegionInfoMessage)),
  splitRow: bytes(2),
  ...nonces(3),
});
export const MergeTableRegionsRequest = message('MergeTableRegionsRequest', {
  regions: repeated(nested(1, RegionSpecifier)),
  forcible: bool(3),
  ...nonces(4),
});
export const MoveRegionRequest = message('MoveRegionRequest', {
  region: required(nested(1, RegionSpecifier)),
  destination: nested(2, ServerName),
});
export const SetBalancerRunningRequest = message('SetBalancerRunningRequest', {
  on: required(bool(1)),
  synchronous: bool(2),
});
export const SetBalancerRunningResponse = message('SetBalancerRunningResponse', { previous: bool(1) });
export const IsBalancerEnabledResponse = message('IsBalancerEnabledResponse', { enabled: required(bool(1)) });
/** `AssignRegionRequest`, `UnassignRegionRequest`. */
export const RegionRequest = message('AssignRegionRequest', { region: required(nested(1, RegionSpecifier)) });

/** The load of a region; some sizes are in MiB. */
export const RegionLoad = message('RegionLoad', {
  region: required(nested(1, RegionSpecifier)),
  stores: uint32(2),
  storeFiles: uint32(3),
  storeFileSizeMB: uint32(5),
  memstoreSizeMB: uint32(6),
  readRequests: uint64(8),
  writeRequests: uint64(9),
});
export const GetRegionLoadRequest = message('GetRegionLoadRequest', {
  tableName: nested(1, TableNameMessage),
});
export const GetRegionLoadResponse = message('GetRegionLoadResponse', {
  regionLoads: repeated(nested(1, RegionLoad)),
});
export const ServerLoad = message('ServerLoad', {
  requestsPerSecond: uint64(1),
  totalRequests: uint64(2),
  usedHeapMB: uint32(3),
  maxHeapMB: uint32(4),
  regionLoads: repeated(nested(5, RegionLoad)),
  reportStartTime: uint64(7),
  reportEndTime: uint64(8),
});
export const LiveServerInfo = message('LiveServerInfo', {
  server: required(nested(1, ServerName)),
  serverLoad: required(nested(2, ServerLoad)),
});
export const RegionState = message('RegionState', {
  regionInfo: required(nested(1, RegionInfoMessage)),
  /** 0 offline, 1 opening, 2 open, 3 closing, 4 closed, 5 splitting, and so on. */
  state: required(int32(2)),
  stamp: uint64(3),
});
export const RegionInTransition = message('RegionInTransition', {
  regionState: required(nested(2, RegionState)),
});
export const ClusterIdMessage = message('ClusterId', { clusterId: required(string(1)) });
export const VersionContent = message('HBaseVersionFileContent', { version: required(string(1)) });
const RegionStatesCount = message('RegionStatesCount', {
  openRegions: required(uint32(1)),
  splitRegions: required(uint32(2)),
  closedRegions: required(uint32(3)),
  regionsInTransition: required(uint32(4)),
  totalRegions: required(uint32(5)),
});
const TableRegionStatesCount = message('TableRegionStatesCount', {
  tableName,
  regionStatesCount: required(nested(2, RegionStatesCount)),
});
export const ClusterStatus = message('ClusterStatus', {
  hbaseVersion: nested(1, VersionContent),
  liveServers: repeated(nested(2, LiveServerInfo)),
  deadServers: repeated(nested(3, ServerName)),
  regionsInTransition: repeated(nested(4, RegionInTransition)),
  clusterId: nested(5, ClusterIdMessage),
  master: nested(7, ServerName),
  backupMasters: repeated(nested(8, ServerName)),
  balancerOn: bool(9),
  masterInfoPort: int32(10),
  serversName: repeated(nested(11, ServerName)),
  tableRegionStatesCount: repeated(nested(12, TableRegionStatesCount)),
});
export const GetClusterStatusRequest = message('GetClusterStatusRequest', { options: repeated(int32(1)) });
export const GetClusterStatusResponse = message('GetClusterStatusResponse', {
  clusterStatus: required(nested(1, ClusterStatus)),
});

/** Type 0 disabled, 1 flush, 2 skip flush. */
export const SnapshotDescription = message('SnapshotDescription', {
  name: required(string(1)),
  table: string(2),
  creationTime: int64(3),
  type: int32(4),
  version: int32(5),
  owner: string(6),
  ttl: int64(8),
});
export const SnapshotRequest = message('SnapshotRequest', {
  snapshot: required(nested(1, SnapshotDescription)),
  ...nonces(2),
});
export const SnapshotResponse = message('SnapshotResponse', {
  expectedTimeout: required(int64(1)),
  procId: int64(2),
});
export const IsSnapshotDoneRequest = message('IsSnapshotDoneRequest', {
  snapshot: nested(1, SnapshotDescription),
});
export const IsSnapshotDoneResponse = message('IsSnapshotDoneResponse', { done: bool(1) });
export const DeleteSnapshotRequest = message('DeleteSnapshotRequest', {
  snapshot: required(nested(1, SnapshotDescription)),
});
export const GetCompletedSnapshotsResponse = message('GetCompletedSnapshotsResponse', {
  snapshots: repeated(nested(1, SnapshotDescription)),
});
export const RestoreSnapshotRequest = message('RestoreSnapshotRequest', {
  snapshot: required(nested(1, SnapshotDescription)),
  ...nonces(2),
});
export const RestoreSnapshotResponse = message('RestoreSnapshotResponse', { procId: required(uint64(1)) });
