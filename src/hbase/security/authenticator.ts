import type { Socket } from 'node:net';
import type { ServerAddress } from '../rpc/address.js';
import { AuthCode } from '../rpc/hello.js';

/** What passes the bytes of an authenticated connection: nothing to do, or signing and sealing (`auth-int`, `auth-conf`). */
export interface SecurityLayer {
  wrap(data: Buffer): Buffer;
  /** Takes bytes of the stream; answers what they hold unwrapped, as far as it is complete. */
  unwrap(data: Buffer): Buffer[];
}

/** A way to say who one is. {@link simpleAuthenticator} or one of `security/kerberos.ts`. */
export interface Authenticator {
  /** The byte of the preamble. */
  readonly code: AuthCode;
  /**
   * The exchange between preamble and connection header; answers the layer the connection uses afterwards, or
   * undefined for plain bytes. Absent: there is none.
   * @throws RowanError `ERR_SECURITY` when the server refuses.
   */
  negotiate?(socket: Socket, server: ServerAddress): Promise<SecurityLayer | undefined>;
}

/** HBase's SIMPLE: the user's name is believed. */
export const simpleAuthenticator: Authenticator = { code: AuthCode.Simple };
