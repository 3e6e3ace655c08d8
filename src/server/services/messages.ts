/** Messages of `Master.proto`, `Admin.proto` and `Registry.proto` that only the server uses. */

import { ColumnFamilySchema, NamespaceDescriptor, TableSchema } from '../../hbase/wire/messages-admin.js';
import {
  NameStringPair,
  RegionInfoMessage,
  ServerName,
  TableNameMessage,
} from '../../hbase/wire/messages-rpc.js';
import {
  bigUint64,
  bool,
  bytes,
  int64,
  message,
  nested,
  repeated,
  required,
  string,
  uint32,
  uint64,
} from '../../hbase/wire/schema.js';

const tableName = required(nested(1, TableNameMessage));

export const GetMastersResponse = message('GetMastersResponse', {
  masterServers: repeated(
    nested(
      1,
      message('GetMastersResponseEntry', {
        serverName: required(nested(1, ServerName)),
        isActive: required(bool(2)),
      }),
    ),
  ),
});
export const GetConnectionRegistryResponse = message('GetConnectionRegistryResponse', {
  clusterId: required(string(1)),
});

/** `AddColumnRequest`, `ModifyColumnRequest`. */
export const FamilyRequest = message('AddColumnRequest', {
  tableName,
  columnFamilies: required(nested(2, ColumnFamilySchema)),
  nonceGroup: bigUint64(3),
  nonce: bigUint64(4),
});
export const DeleteColumnRequest = message('DeleteColumnRequest', {
  tableName,
  columnName: required(bytes(2)),
  nonceGroup: bigUint64(3),
  nonce: bigUint64(4),
});
export const GetTableNamesRequest = message('GetTableNamesRequest', {
  regex: string(1),
  includeSystemTables: bool(2),
  namespace: string(3),
});
export const GetTableNamesResponse = message('GetTableNamesResponse', {
  tableNames: repeated(nested(1, TableNameMessage)),
});
export const NamespaceRequest = message('ListTableNamesByNamespaceRequest', {
  namespaceName: required(string(1)),
});
/** `ListTableNamesByStateRequest`, `ListTableDescriptorsByStateRequest`. */
export const StateRequest = message('ListTableNamesByStateRequest', { isEnabled: required(bool(1)) });
export const TableSchemas = message('ListTableDescriptorsByNamespaceResponse', {
  tableSchema: repeated(nested(1, TableSchema)),
});
export const ListNamespaceDescriptorsResponse = message('ListNamespaceDescriptorsResponse', {
  namespaceDescriptor: repeated(nested(1, NamespaceDescriptor)),
});
export const GetSchemaAlterStatusRequest = message('GetSchemaAlterStatusRequest', { tableName });
export const GetSchemaAlterStatusResponse = message('GetSchemaAlterStatusResponse', {
  yetToUpdateRegions: uint32(1),
  totalRegions: uint32(2),
});
export const FlushTableRequest = message('FlushTableRequest', {
  tableName,
  columnFamily: repeated(bytes(2)),
  nonceGroup: bigUint64(3),
  nonce: bigUint64(4),
});

const ProcedureDescription = message('ProcedureDescription', {
  signature: required(string(1)),
  instance: string(2),
  creationTime: int64(3),
  configuration: repeated(nested(4, NameStringPair)),
});
/** `ExecProcedureRequest`, `IsProcedureDoneRequest`. */
export const ProcedureRequest = message('ExecProcedureRequest', {
  procedure: nested(1, ProcedureDescription),
});
export const ExecProcedureResponse = message('ExecProcedureResponse', { expectedTimeout: int64(1) });
/** Any response with one flag in field 1. */
export const Flag = message('Flag', { value: bool(1) });
/** Any response with several flags in field 1. */
export const Flags = message('Flags', { values: repeated(bool(1)) });
export const SwitchRequest = message('SetSplitOrMergeEnabledRequest', {
  enabled: required(bool(1)),
  types: repeated(uint32(3)),
});
export const SwitchTypeRequest = message('IsSplitOrMergeEnabledRequest', { type: required(uint32(1)) });
export const Timestamp = message('MajorCompactionTimestampResponse', {
  compactionTimestamp: required(int64(1)),
});
export const GetOnlineRegionResponse = message('GetOnlineRegionResponse', {
  regionInfo: repeated(nested(1, RegionInfoMessage)),
});
export const FlushRegionResponse = message('FlushRegionResponse', {
  lastFlushTime: required(uint64(1)),
  flushed: bool(2),
});
export const GetServerInfoResponse = message('GetServerInfoResponse', {
  serverInfo: required(
    nested(1, message('ServerInfo', { serverName: required(nested(1, ServerName)), webuiPort: uint32(2) })),
  ),
});
