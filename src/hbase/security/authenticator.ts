import type { Socket } from 'node:net';
import { AuthCode, type ServerAddress } from '../rpc/connection-settings.js';

/** The security layer of an authenticated connection, which signs or seals its bytes (`auth-int`, `auth-conf`). */
export interface SecurityLayer {
  /** @returns the bytes to send for `data`. Not called again before the last call has resolved. */
  wrap(data: Buffer): Buffer | Promise<Buffer>;
  /**
   * Unwraps bytes of the stream. Not called again before the last call has resolved. An error ends the connection.
   * @returns the content of the complete messages.
   */
  unwrap(data: Buffer): Buffer[] | Promise<Buffer[]>;
}

/** The outcome of an authentication. */
export interface Authenticated {
  /** The security layer of the connection; undefined: none. */
  readonly layer?: SecurityLayer | undefined;
  /** Whether the server requires no authentication and trusts the user's name. */
  readonly isSimple?: boolean | undefined;
}

/** An authentication method: {@link simpleAuthenticator}, or one of Kerberos or tokens. */
export interface Authenticator {
  /** Its byte in the preamble. */
  readonly code: AuthCode;
  /**
   * Runs the exchange between preamble and connection header. Absent: there is none, and the server trusts the user's name.
   * @throws RowanError `ERR_SECURITY` when the server refuses.
   */
  negotiate?(socket: Socket, server: ServerAddress): Promise<Authenticated>;
}

/** HBase's SIMPLE: the server trusts the user's name. */
export const simpleAuthenticator: Authenticator = { code: AuthCode.Simple };
