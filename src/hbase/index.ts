/** The exports of `rowan-orm/hbase`. The engine itself is loaded on the first `connect`. */

export type { TelemetryApi } from '../table/telemetry.js';
export type {
  LabelAdmin,
  PermissionScope,
  PermittedAction,
  Revocation,
  UserPermission,
} from './admin/access-admin.js';
export type { BulkLoad, BulkLoadFile, BulkLoadOutcome, FileSystemToken } from './admin/bulk-load.js';
export type { ClusterStatus, ServerInfo, ServerStatus } from './admin/cluster-admin.js';
export type { GroupAdmin, GroupMembers, RegionServerGroup } from './admin/group-admin.js';
export type { HBaseAdmin } from './admin/hbase-admin.js';
export type { SlowLogAdmin, SlowLogEntry, SlowLogQuery } from './admin/slow-log-admin.js';
export type { SnapshotInfo } from './admin/snapshot-admin.js';
export type {
  Quota,
  ReplicationPeer,
  SpaceQuota,
  SpaceQuotaState,
  SpaceSubject,
  SpaceViolationPolicy,
  Throttle,
  ThrottleSubject,
} from './admin/traffic-admin.js';
export type { CoprocessorAnswer, CoprocessorCall } from './client/region-call.js';
export type { HBaseEngine } from './engine.js';
export type {
  HBaseDebugState,
  HBaseEvent,
  HBaseMetrics,
  MethodMetrics,
  ServerMetrics,
} from './observe/observer.js';
export type { LatencySnapshot, OperationFigures, TableFigures } from './observe/table-figures.js';
export type { HBaseOptions, ZooKeeperOptions } from './options.js';
export type { ResolveAddress, ServerAddress, TlsOptions } from './rpc/connection-settings.js';
export {
  AnswerTooLargeError,
  ConnectionError,
  ProtocolError,
  RemoteError,
  UnknownOutcomeError,
} from './rpc/errors.js';
export type { Authenticator, SecurityLayer } from './security/authenticator.js';
export {
  type DelegationToken,
  encodeToken,
  parseToken,
  secretAuthenticator,
  secretToken,
  type TokenOptions,
  tokenAuthenticator,
} from './security/delegation-token.js';
export { type KerberosOptions, kerberosAuthenticator } from './security/kerberos.js';
export type { Protection } from './security/sasl.js';
export { type ZooKeeperSasl, zooKeeperDigest, zooKeeperKerberos } from './security/zookeeper-sasl.js';
