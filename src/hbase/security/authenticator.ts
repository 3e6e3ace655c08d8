import type { Socket } from 'node:net';
import { AuthCode, type ServerAddress } from '../rpc/connection-settings.js';

/** What passes the bytes of an authenticated connection: nothing to do, or signing and sealing (`auth-int`, `auth-conf`). */
export interface SecurityLayer {
  /** What goes over the socket in the place of `data`. Called again when it has answered, never before. */
  wrap(data: Buffer): Buffer | Promise<Buffer>;
  /**
   * Takes bytes of the stream; answers what they hold unwrapped, as far as it is complete. Called again when it has
   * answered; a failure ends the connection.
   */
  unwrap(data: Buffer): Buffer[] | Promise<Buffer[]>;
}

/** How an authentication ended. */
export interface Authenticated {
  /** What passes the connection's bytes from then on; undefined: nothing does. */
  readonly layer?: SecurityLayer | undefined;
  /** The server wants no authentication, and believes the name of the user. */
  readonly isSimple?: boolean | undefined;
}

/** A way to say who one is. {@link simpleAuthenticator} or one of `security/kerberos.ts`. */
export interface Authenticator {
  /** The byte of the preamble. */
  readonly code: AuthCode;
  /**
   * The exchange between preamble and connection header. Absent: there is none, and the user's name is believed.
   * @throws RowanError `ERR_SECURITY` when the server refuses.
   */
  negotiate?(socket: Socket, server: ServerAddress): Promise<Authenticated>;
}

/** HBase's SIMPLE: the user's name is believed. */
export const simpleAuthenticator: Authenticator = { code: AuthCode.Simple };
