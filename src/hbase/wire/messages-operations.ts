import {
  NameBytesPair,
  NameStringPair,
  RegionSpecifier,
  ServerName,
  TableNameMessage,
} from './messages-rpc.js';
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

// — `RSGroup.proto` and `RSGroupAdmin.proto`.

export const GroupInfo = message('RSGroupInfo', {
  name: required(string(1)),
  tables: repeated(nested(3, TableNameMessage)),
  servers: repeated(nested(4, ServerName)),
  configuration: repeated(nested(5, NameStringPair)),
});
export type GroupInfo = TypeOf<typeof GroupInfo>;

/** `AddRSGroupRequest`, `RemoveRSGroupRequest`, `GetRSGroupInfoRequest`. */
export const GroupNameRequest = message('GetRSGroupInfoRequest', { name: required(string(1)) });
/** `GetRSGroupInfoResponse`, and those for a table and for a server. */
export const GroupInfoResponse = message('GetRSGroupInfoResponse', { group: nested(1, GroupInfo) });
export const GroupOfTableRequest = message('GetRSGroupInfoOfTableRequest', {
  tableName: required(nested(1, TableNameMessage)),
});
export const GroupOfServerRequest = message('GetRSGroupInfoOfServerRequest', {
  server: required(nested(2, ServerName)),
});
export const ListGroupsResponse = message('ListRSGroupInfosResponse', {
  groups: repeated(nested(1, GroupInfo)),
});
export const MoveServersRequest = message('MoveServersRequest', {
  group: required(string(1)),
  servers: repeated(nested(3, ServerName)),
});
export const MoveTablesRequest = message('MoveTablesRequest', {
  group: required(string(1)),
  tables: repeated(nested(2, TableNameMessage)),
});
export const MoveServersAndTablesRequest = message('MoveServersAndTablesRequest', {
  group: required(string(1)),
  servers: repeated(nested(2, ServerName)),
  tables: repeated(nested(3, TableNameMessage)),
});
export const RemoveServersRequest = message('RemoveServersRequest', {
  servers: repeated(nested(1, ServerName)),
});
export const RenameGroupRequest = message('RenameRSGroupRequest', {
  from: required(string(1)),
  to: required(string(2)),
});
export const ConfigureGroupRequest = message('UpdateRSGroupConfigRequest', {
  name: required(string(1)),
  configuration: repeated(nested(2, NameStringPair)),
});
export const BalanceGroupRequest = message('BalanceRSGroupRequest', {
  name: required(string(1)),
  ignoreRit: bool(2),
});
export const BalanceGroupResponse = message('BalanceRSGroupResponse', {
  balanceRan: required(bool(1)),
  /** Since 2.5. */
  movesCalculated: uint32(2),
  movesExecuted: uint32(3),
});

// — `Quota.proto`, and the quota messages of `Master.proto`.

export const TimedQuota = message('TimedQuota', {
  timeUnit: required(int32(1)),
  softLimit: uint64(2),
  scope: int32(4),
});
const ThrottleMessage = message('Throttle', {
  reqNum: nested(1, TimedQuota),
  reqSize: nested(2, TimedQuota),
  writeNum: nested(3, TimedQuota),
  writeSize: nested(4, TimedQuota),
  readNum: nested(5, TimedQuota),
  readSize: nested(6, TimedQuota),
});
export const ThrottleRequest = message('ThrottleRequest', {
  type: int32(1),
  timedQuota: nested(2, TimedQuota),
});
const SpaceQuotaMessage = message('SpaceQuota', {
  softLimit: uint64(1),
  violationPolicy: int32(2),
  remove: bool(3),
});
const SpaceLimitRequest = message('SpaceLimitRequest', { quota: nested(1, SpaceQuotaMessage) });
/** The value of a row of `hbase:quota`, after its magic bytes. */
export const QuotasMessage = message('Quotas', {
  throttle: nested(2, ThrottleMessage),
  space: nested(3, SpaceQuotaMessage),
});
export const SetQuotaRequest = message('SetQuotaRequest', {
  userName: string(1),
  namespace: string(3),
  tableName: nested(4, TableNameMessage),
  removeAll: bool(5),
  throttle: nested(7, ThrottleRequest),
  spaceLimit: nested(8, SpaceLimitRequest),
});

const SpaceQuotaStatus = message('SpaceQuotaStatus', { violationPolicy: int32(1), inViolation: bool(2) });
export const SpaceQuotaSnapshot = message('SpaceQuotaSnapshot', {
  quotaStatus: nested(1, SpaceQuotaStatus),
  quotaUsage: uint64(2),
  quotaLimit: uint64(3),
});
export const GetQuotaStatesResponse = message('GetQuotaStatesResponse', {
  tables: repeated(
    nested(
      1,
      message('TableQuotaSnapshot', {
        tableName: nested(1, TableNameMessage),
        snapshot: nested(2, SpaceQuotaSnapshot),
      }),
    ),
  ),
  namespaces: repeated(
    nested(
      2,
      message('NamespaceQuotaSnapshot', { namespace: string(1), snapshot: nested(2, SpaceQuotaSnapshot) }),
    ),
  ),
});

// — `TooSlowLog.proto`, and the requests for it in `Admin.proto` and `HBase.proto`.

/** Encloses a request, or an answer, with the name of its Java class. */
export const LogRequest = message('LogRequest', {
  logClassName: required(string(1)),
  logMessage: required(bytes(2)),
});
export const LogEntry = LogRequest;

export const SlowLogRequest = message('SlowLogResponseRequest', {
  regionName: string(1),
  tableName: string(2),
  clientAddress: string(3),
  userName: string(4),
  limit: uint32(5),
  /** 0 and, 1 or. */
  filterByOperator: int32(6),
  /** 0 slow, 1 large. */
  logType: int32(7),
});

export const SlowLogPayload = message('SlowLogPayload', {
  startTime: required(int64(1)),
  processingTime: required(int32(2)),
  queueTime: required(int32(3)),
  responseSize: required(int64(4)),
  clientAddress: required(string(5)),
  methodName: required(string(7)),
  callDetails: required(string(8)),
  param: string(9),
  userName: required(string(10)),
  regionName: string(11),
  multiGets: int32(12),
  multiMutations: int32(13),
  /** Since 2.6, as are the attributes. */
  blockBytesScanned: int64(16),
  connectionAttribute: repeated(nested(18, NameBytesPair)),
  requestAttribute: repeated(nested(19, NameBytesPair)),
});
export const SlowLogResponses = message('SlowLogResponses', {
  payloads: repeated(nested(1, SlowLogPayload)),
});
export const ClearSlowLogsResponse = message('ClearSlowLogResponses', { isCleaned: required(bool(1)) });

// — `Client.proto`: bulk load.

export const PrepareBulkLoadRequest = message('PrepareBulkLoadRequest', {
  tableName: required(nested(1, TableNameMessage)),
  region: nested(2, RegionSpecifier),
});
export const PrepareBulkLoadResponse = message('PrepareBulkLoadResponse', { bulkToken: required(string(1)) });

export const FamilyPath = message('FamilyPath', { family: required(bytes(1)), path: required(string(2)) });
/** A delegation token of the file system. */
export const FileSystemTokenMessage = message('DelegationToken', {
  identifier: bytes(1),
  password: bytes(2),
  kind: string(3),
  service: string(4),
});
export const BulkLoadHFileRequest = message('BulkLoadHFileRequest', {
  region: required(nested(1, RegionSpecifier)),
  familyPath: repeated(nested(2, FamilyPath)),
  assignSeqNum: bool(3),
  fsToken: nested(4, FileSystemTokenMessage),
  bulkToken: string(5),
  copyFile: bool(6),
  replicate: bool(8),
});
export const BulkLoadHFileResponse = message('BulkLoadHFileResponse', { loaded: required(bool(1)) });

export const CleanupBulkLoadRequest = message('CleanupBulkLoadRequest', {
  bulkToken: required(string(1)),
  region: nested(2, RegionSpecifier),
});
