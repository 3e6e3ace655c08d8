/**
 * `rowan-orm/hbase`: what only Apache HBase has: options, errors, authentication, and the engine without entities.
 * `connect` itself is in `rowan-orm`.
 */

export { connectHBase, type HBaseEngine } from '../hbase/engine.js';
export {
  type Authenticator,
  ConnectionError,
  type HBaseAdmin,
  type HBaseOptions,
  type KerberosOptions,
  kerberosAuthenticator,
  ProtocolError,
  RemoteError,
  type ResolveAddress,
  type SecurityLayer,
  type ServerAddress,
  type ServerInfo,
  type SnapshotInfo,
  type TlsOptions,
  UnknownOutcomeError,
  type ZooKeeperOptions,
} from '../hbase/index.js';
