/**
 * `rowan-orm/hbase`: what only Apache HBase has: options, errors, authentication, and the engine without entities.
 * `connect` itself is in `rowan-orm`.
 */

export { connectHBase, type HBaseEngine } from '../hbase/engine.js';
export {
  type Authenticator,
  type ClusterStatus,
  ConnectionError,
  type CoprocessorAnswer,
  type CoprocessorCall,
  type DelegationToken,
  encodeToken,
  type HBaseAdmin,
  type HBaseEvent,
  type HBaseMetrics,
  type HBaseOptions,
  type KerberosOptions,
  kerberosAuthenticator,
  type LatencySnapshot,
  type MethodMetrics,
  type Protection,
  ProtocolError,
  parseToken,
  RemoteError,
  type ResolveAddress,
  type SecurityLayer,
  type ServerAddress,
  type ServerInfo,
  type ServerMetrics,
  type ServerStatus,
  type SnapshotInfo,
  type TelemetryApi,
  type TlsOptions,
  type TokenOptions,
  tokenAuthenticator,
  UnknownOutcomeError,
  type ZooKeeperOptions,
} from '../hbase/index.js';
