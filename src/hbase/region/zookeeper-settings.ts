import type { ServerAddress } from '../rpc/address.js';
import type { ZooKeeperAccess } from './zookeeper.js';

/** The option `zookeeper`, with its defaults. */
export interface ZooKeeperSettings extends Partial<Pick<ZooKeeperAccess, 'tls' | 'sasl'>> {
  readonly quorum: readonly ServerAddress[];
  readonly parent: string;
}
