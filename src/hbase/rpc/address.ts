import type { CellBlockCompression } from './cell-block-compression.js';
import type { TlsOptions } from './tls-options.js';

/** A server as the cluster names it. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", by which servers are told apart. */
export function addressKey(address: ServerAddress): string {
  return `${address.host}:${address.port}`;
}

/** The services of HBase's rpc; one connection serves one of them. */
export type ServiceName = 'ClientService' | 'AdminService' | 'MasterService' | 'ClientMetaService';

/** Gives another address for the one that the cluster names: for servers behind NAT, in containers, through tunnels. */
export type ResolveAddress = (host: string, port: number) => ServerAddress | Promise<ServerAddress>;

/** What every connection is made with. */
export interface ConnectionSettings {
  /** The name that is believed without authentication, or that an authenticated user acts for. */
  readonly user: string | undefined;
  /** The name without authentication when {@link user} is not given. */
  readonly systemUser: string;
  readonly connectTimeout: number;
  /** A connection on which nothing comes for this long although something was asked is given up. */
  readonly rpcTimeout: number;
  readonly maxFrameSize: number;
  /** Cells, and objects of other kinds, that one answer may be made into. */
  readonly maxAnswerCells: number;
  readonly resolveAddress: ResolveAddress | undefined;
  readonly tls: TlsOptions | undefined;
  readonly connectionAttributes: Readonly<Record<string, string>>;
  readonly cellBlockCompression: CellBlockCompression | undefined;
}
