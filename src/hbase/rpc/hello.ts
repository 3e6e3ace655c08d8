/** What a client says first: `HBas`, version 0, the kind of authentication, and a `ConnectionHeader`. */

import { ConnectionHeader } from '../wire/messages-rpc.js';
import { encodeMessage } from '../wire/schema.js';
import type { ServiceName } from './address.js';

export const AuthCode = { Simple: 0x50, Kerberos: 0x51, Digest: 0x52 } as const;
export type AuthCode = (typeof AuthCode)[keyof typeof AuthCode];

/** The version whose behaviour is asked for: 2.6 answers gets in cell blocks and limits the size of a Multi's answer. */
const VERSION = { version: '2.6.5', versionMajor: 2, versionMinor: 6 };

/** The six bytes before everything. */
export function preamble(auth: AuthCode): Uint8Array {
  return Uint8Array.of(0x48, 0x42, 0x61, 0x73, 0, auth);
}

/** The `ConnectionHeader` behind its length. */
export function connectionHeader(user: string, service: ServiceName): Uint8Array {
  const header = encodeMessage(ConnectionHeader, {
    userInfo: { effectiveUser: user },
    serviceName: service,
    cellBlockCodecClass: 'org.apache.hadoop.hbase.codec.KeyValueCodec',
    versionInfo: { ...VERSION, url: '-', revision: '-', user: '-', date: '-', srcChecksum: '-' },
  });
  const out = Buffer.alloc(4 + header.length);
  out.writeInt32BE(header.length);
  out.set(header, 4);
  return out;
}
