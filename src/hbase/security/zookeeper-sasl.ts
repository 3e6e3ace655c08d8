/** Authentication to ZooKeeper, which transports SASL in requests of its own protocol. */

import { InvalidArgumentError } from '../../errors.js';
import { addressKey, type ServerAddress } from '../rpc/connection-settings.js';
import { DigestSession } from './digest-md5.js';
import { gssapiSession, type KerberosOptions } from './kerberos.js';
import type { Protection, SaslSession } from './sasl.js';

/** Starts an exchange with a server of the quorum. */
export interface ZooKeeperSasl {
  session(server: ServerAddress): Promise<SaslSession>;
}

/** The only mechanism of ZooKeeper beside Kerberos. */
const ACCEPTED: readonly Protection[] = ['authentication'];
/** The service name of ZooKeeper's servers. */
const DIGEST_URI = 'zookeeper/zk-sasl-md5';

/** A user and password of the server's JAAS section (`DigestLoginModule`). */
export function zooKeeperDigest(credentials: {
  readonly username: string;
  readonly password: string;
}): ZooKeeperSasl {
  const { username, password } = credentials;
  if (typeof username !== 'string' || typeof password !== 'string' || username === '') {
    throw new InvalidArgumentError('zooKeeperDigest takes a username and a password.');
  }
  return {
    session: async (server) =>
      new DigestSession({ username, password, uri: DIGEST_URI }, ACCEPTED, addressKey(server)),
  };
}

/** A ticket or keytab, as with `kerberosAuthenticator`; `serviceName` is `zookeeper` by default. */
export function zooKeeperKerberos(
  options: Omit<KerberosOptions, 'protection' | 'fallbackToSimple'> = {},
): ZooKeeperSasl {
  return {
    session: async (server) => {
      const host = await (options.serviceHost?.(server) ?? server.host.toLowerCase());
      return gssapiSession(
        `${options.serviceName ?? 'zookeeper'}@${host}`,
        ACCEPTED,
        addressKey(server),
        options,
      );
    },
  };
}
