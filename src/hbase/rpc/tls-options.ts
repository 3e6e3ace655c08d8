import type { ConnectionOptions } from 'node:tls';

/** TLS to every server (HBase 2.6 `hbase.server.netty.tls.enabled`). Everything else is Node's `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  | 'ca'
  | 'cert'
  | 'key'
  | 'pfx'
  | 'passphrase'
  | 'servername'
  | 'rejectUnauthorized'
  | 'minVersion'
  | 'ciphers'
>;
