/** The client's first message: `HBas`, version 0, the authentication method, and a `ConnectionHeader`. */

import type { Socket } from 'node:net';
import type { Authenticator, SecurityLayer } from '../security/authenticator.js';
import { FinalStatus } from '../security/sasl.js';
import { ConnectionHeader } from '../wire/messages-rpc.js';
import { encodeMessage } from '../wire/schema.js';
import {
  type AuthCode,
  COMPRESSIONS,
  type ConnectionSettings,
  type ServerAddress,
  type ServiceName,
} from './connection-settings.js';
import { withTimeout } from './first-answer.js';

/** The client version sent to the server: for 2.6 it answers gets in cell blocks and limits a Multi's answer. */
const VERSION = { version: '2.6.5', versionMajor: 2, versionMinor: 6 };

/** The six bytes of the preamble. */
export function preamble(auth: AuthCode): Uint8Array {
  return Uint8Array.of(0x48, 0x42, 0x61, 0x73, 0, auth);
}

/**
 * The `ConnectionHeader` with its length. Without a user it means the authenticated one; another name requests to
 * impersonate that user (Hadoop's proxy users).
 */
export function connectionHeader(
  user: string | undefined,
  service: ServiceName,
  settings: Partial<Pick<ConnectionSettings, 'connectionAttributes' | 'cellBlockCompression'>> = {},
): Uint8Array {
  const { connectionAttributes = {}, cellBlockCompression } = settings;
  const header = encodeMessage(ConnectionHeader, {
    userInfo: user === undefined ? undefined : { effectiveUser: user },
    serviceName: service,
    cellBlockCodecClass: 'org.apache.hadoop.hbase.codec.KeyValueCodec',
    cellBlockCompressorClass:
      cellBlockCompression === undefined ? undefined : COMPRESSIONS[cellBlockCompression].codecClass,
    attribute: Object.entries(connectionAttributes).map(([name, value]) => ({
      name,
      value: Buffer.from(value, 'utf8'),
    })),
    versionInfo: { ...VERSION, url: '-', revision: '-', user: '-', date: '-', srcChecksum: '-' },
  });
  const out = Buffer.alloc(4 + header.length);
  out.writeInt32BE(header.length);
  out.set(header, 4);
  return out;
}

/** The outcome of the greeting. */
interface HandshakeResult {
  /** Bytes to send before the first request, through the security layer. */
  readonly header: Buffer;
  readonly layer: SecurityLayer | undefined;
  /** Set where the server may still send a message about the authentication. */
  readonly finalStatus: FinalStatus | undefined;
}

/**
 * Greets a server over a new socket and authenticates as configured. The server does not answer the greeting itself.
 * @throws RowanError errors of the authentication; TimeoutError when it takes longer than `connectTimeout`.
 */
export async function performHandshake(
  socket: Socket,
  to: { readonly address: ServerAddress; readonly key: string; readonly service: ServiceName },
  settings: ConnectionSettings,
  authenticator: Authenticator,
  signal: AbortSignal,
): Promise<HandshakeResult> {
  const start = preamble(authenticator.code);
  if (authenticator.negotiate === undefined) {
    const header = connectionHeader(settings.user ?? settings.systemUser, to.service, settings);
    socket.write(Buffer.concat([start, header]));
    return { header: Buffer.alloc(0), layer: undefined, finalStatus: undefined };
  }
  socket.write(start);
  const { layer, isSimple } = await withTimeout(
    authenticator.negotiate(socket, to.address),
    settings.connectTimeout,
    `The authentication at HBase server ${to.key}`,
    signal,
  );
  const user = isSimple === true ? (settings.user ?? settings.systemUser) : settings.user;
  const header = Buffer.from(connectionHeader(user, to.service, settings));
  return { header, layer, finalStatus: new FinalStatus(to.key) };
}
