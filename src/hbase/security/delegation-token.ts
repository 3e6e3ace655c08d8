import { InvalidArgumentError } from '../../errors.js';
import { AuthCode, addressKey } from '../rpc/connection-settings.js';
import type { Authenticator } from './authenticator.js';
import { DigestSession } from './digest-md5.js';
import { negotiateSasl, type Protection, protectionsOf } from './sasl.js';

/**
 * A delegation token (`AuthenticationTokenIdentifier`): a secret that the cluster issues to a Kerberos user, with which processes act as
 * that user. It is valid until it expires (`hbase.auth.token.max.lifetime`, by default seven days) and cannot be renewed.
 */
export interface DelegationToken {
  readonly identifier: Uint8Array;
  readonly password: Uint8Array;
  /** The service that it is for; of HBase the cluster id. */
  readonly service: string;
}

export interface TokenOptions {
  /** As the option of `kerberosAuthenticator`. */
  readonly protection?: Protection | readonly Protection[];
  /** Whether to connect without authentication to a server that requires none; default false. */
  readonly fallbackToSimple?: boolean;
}

const KIND = 'HBASE_AUTH_TOKEN';
/** HBase's SASL server has neither protocol nor host, which Java writes so. */
const DIGEST_URI = 'null/default';

/**
 * Authenticates with a delegation token (SASL DIGEST-MD5) from `HBaseAdmin.createDelegationToken`, or in the text form of Hadoop's
 * `Token.encodeToUrlString`.
 * @throws InvalidArgumentError for an invalid token.
 */
export function tokenAuthenticator(
  token: DelegationToken | string,
  options: TokenOptions = {},
): Authenticator {
  const accepted = protectionsOf(options.protection);
  const { identifier, password } = typeof token === 'string' ? parseToken(token) : checkToken(token);
  const credentials = {
    username: Buffer.from(identifier).toString('base64'),
    password: Buffer.from(password).toString('base64'),
    uri: DIGEST_URI,
  };
  return {
    code: AuthCode.Digest,
    negotiate: (socket, server) => {
      const name = addressKey(server);
      const session = new DigestSession(credentials, accepted, name);
      return negotiateSasl(socket, session, name, options.fallbackToSimple ?? false);
    },
  };
}

/**
 * The token of a user of `rowan serve`, made from the user's secret (docs/server.md). `encodeToken` encodes it for Java clients, with the
 * cluster id as `service`.
 */
export function secretToken(user: string, secret: string, service = ''): DelegationToken {
  const name = Buffer.from(user);
  // AuthenticationTokenIdentifier: the kind, the name of the user, and the number of the server's key, without which Java cannot read it.
  const message = Buffer.concat([Buffer.of(8, 0, 18), varintOf(name.length), name, Buffer.of(24, 0)]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(message.length);
  return { identifier: Buffer.concat([length, message]), password: Buffer.from(secret), service };
}

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}

/** Authenticates at `rowan serve` with a user's secret (docs/server.md). */
export function secretAuthenticator(user: string, secret: string): Authenticator {
  return tokenAuthenticator(secretToken(user, secret));
}

/** The text form of a token (Hadoop's `Token.encodeToUrlString`). It contains the secret. */
export function encodeToken(token: DelegationToken): string {
  const { identifier, password, service } = checkToken(token);
  const parts = [identifier, password, Buffer.from(KIND), Buffer.from(service)];
  return Buffer.concat(parts.flatMap((part) => [writableInt(part.length), part])).toString('base64url');
}

/**
 * Decodes a token from its text form.
 * @throws InvalidArgumentError for invalid text, or a token of another kind than HBase's.
 */
export function parseToken(text: string): DelegationToken {
  const data = Buffer.from(text.trim(), 'base64url');
  const parts: Buffer[] = [];
  let at = 0;
  for (let part = 0; part < 4; part++) {
    const length = readWritableInt(data, at);
    if (length === undefined || length.end + length.value > data.length) throw noToken();
    at = length.end + length.value;
    parts.push(data.subarray(length.end, at));
  }
  const [identifier, password, kind, service] = parts;
  if (at !== data.length || identifier === undefined || password === undefined) throw noToken();
  if (String(kind) !== KIND) {
    throw new InvalidArgumentError(`The token is of kind "${String(kind).slice(0, 100)}", not ${KIND}.`);
  }
  return checkToken({ identifier, password, service: String(service) });
}

function noToken(): InvalidArgumentError {
  return new InvalidArgumentError(
    'The delegation token is invalid. Give the token that createDelegationToken returned, or the text of encodeToken (Hadoop: ' +
      'Token.encodeToUrlString).',
  );
}

function checkToken(token: DelegationToken): DelegationToken {
  const isSound =
    token?.identifier instanceof Uint8Array &&
    token.password instanceof Uint8Array &&
    token.identifier.length > 0 &&
    token.password.length > 0 &&
    typeof token.service === 'string';
  if (!isSound) throw noToken();
  return token;
}

/** Hadoop's `WritableUtils.writeVInt` of a length: one byte up to 127, else the number of bytes as -113 and below. */
function writableInt(value: number): Buffer {
  if (value <= 127) return Buffer.of(value);
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.of((-112 - bytes.length) & 255, ...bytes);
}

function readWritableInt(
  data: Buffer,
  at: number,
): { readonly value: number; readonly end: number } | undefined {
  if (at >= data.length) return undefined;
  const first = data.readInt8(at);
  if (first >= 0) return { value: first, end: at + 1 };
  const size = -112 - first;
  if (size < 1 || size > 4 || at + 1 + size > data.length) return undefined;
  return { value: data.readUIntBE(at + 1, size), end: at + 1 + size };
}
