import type { TlsOptions } from './transport.js';

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
  readonly user: string;
  readonly connectTimeout: number;
  /** A connection on which nothing comes for this long although something was asked is given up. */
  readonly rpcTimeout: number;
  readonly maxFrameSize: number;
  readonly resolveAddress: ResolveAddress | undefined;
  readonly tls: TlsOptions | undefined;
}
