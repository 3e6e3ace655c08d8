/** What the public interface has of the HBase engine; the engine itself is loaded when a cluster is connected to. */

export type { PermissionScope, PermittedAction, UserPermission } from './admin/access-admin.js';
export type { BulkLoad, BulkLoadFile, BulkLoadOutcome, FileSystemToken } from './admin/bulk-load.js';
export type { ClusterStatus, ServerInfo, ServerStatus } from './admin/cluster-admin.js';
export type { GroupAdmin, GroupMembers, RegionServerGroup } from './admin/group-admin.js';
export type { HBaseAdmin } from './admin/hbase-admin.js';
export type { LabelAdmin } from './admin/label-admin.js';
export type {
  Quota,
  SpaceQuota,
  SpaceQuotaState,
  SpaceSubject,
  SpaceViolationPolicy,
} from './admin/quota-admin.js';
export type { SlowLogAdmin, SlowLogEntry, SlowLogQuery } from './admin/slow-log-admin.js';
export type { SnapshotInfo } from './admin/snapshot-admin.js';
export type { ReplicationPeer, Throttle, ThrottleSubject } from './admin/traffic-admin.js';
export type { CoprocessorAnswer, CoprocessorCall } from './client/coprocessor.js';
export type { HBaseEngine } from './engine.js';
export type { HBaseEvent } from './observe/events.js';
export type { LatencySnapshot } from './observe/latencies.js';
export type { HBaseMetrics, ServerMetrics } from './observe/metrics.js';
export type { MethodMetrics } from './observe/observer.js';
export type { TelemetryApi } from './observe/telemetry.js';
export type { HBaseOptions, ZooKeeperOptions } from './options.js';
export type { ResolveAddress, ServerAddress } from './rpc/address.js';
export {
  AnswerTooLargeError,
  ConnectionError,
  ProtocolError,
  RemoteError,
  UnknownOutcomeError,
} from './rpc/errors.js';
export type { TlsOptions } from './rpc/tls-options.js';
export type { Authenticator, SecurityLayer } from './security/authenticator.js';
export {
  type DelegationToken,
  encodeToken,
  parseToken,
  type TokenOptions,
  tokenAuthenticator,
} from './security/delegation-token.js';
export { type KerberosOptions, kerberosAuthenticator } from './security/kerberos.js';
export type { Protection } from './security/protection.js';
export { type ZooKeeperSasl, zooKeeperDigest, zooKeeperKerberos } from './security/zookeeper-sasl.js';
