import { randomBytes, timingSafeEqual } from 'node:crypto';
import { digestResponse, parseDirectives } from '../../hbase/security/digest-md5.js';
import type { KnownUser, Users } from './users.js';

/** The realm of HBase's servers. */
const REALM = 'default';
const COUNT = '00000001';
/** The largest client token; usual ones have about 400 bytes. */
const LONGEST_TOKEN = 4096;
const REFUSAL_CLASS = 'javax.security.sasl.SaslException';
const REFUSAL = 'DIGEST-MD5: login refused.';

/** The result of the login bytes received so far. */
interface LoginStep {
  /** Bytes to send. */
  readonly answer?: Buffer;
  /** Set when the login has ended: the user, or undefined if refused. */
  readonly ended?: { readonly user: KnownUser | undefined };
  /** The bytes after the login. */
  readonly rest: Buffer;
}

/**
 * The server side of SASL DIGEST-MD5 (RFC 2831), by which HBase clients prove that they have a token:
 *
 *     client:  int32 length | token
 *     server:  int32 0 | int32 length | token; or int32 1 | class | message, each int32 length | UTF-8
 *
 * The client's first token is empty. A refused client gets the same response whatever was wrong: name, secret or
 * format.
 */
export class DigestLogin {
  private readonly nonce = randomBytes(32).toString('base64');
  private data: Buffer = Buffer.alloc(0);
  private isChallenged = false;

  constructor(private readonly users: Users) {}

  push(chunk: Buffer): LoginStep {
    this.data = this.data.length === 0 ? chunk : Buffer.concat([this.data, chunk]);
    const { data } = this;
    const rest = Buffer.alloc(0);
    if (data.length < 4) return { rest };
    const length = data.readInt32BE(0);
    if (length < 0 || length > LONGEST_TOKEN) return refused();
    if (data.length < 4 + length) return { rest };
    const token = data.subarray(4, 4 + length);
    this.data = data.subarray(4 + length);
    if (!this.isChallenged) {
      // A client cannot respond before it has the challenge.
      if (length > 0 || this.data.length > 0) return refused();
      this.isChallenged = true;
      return { answer: success(Buffer.from(this.challenge)), rest };
    }
    const found = this.check(token);
    if (found === undefined) return refused();
    return { answer: success(Buffer.from(found.proof)), ended: { user: found.user }, rest: this.data };
  }

  private get challenge(): string {
    return `realm="${REALM}",nonce="${this.nonce}",qop="auth",charset=utf-8,algorithm=md5-sess`;
  }

  private check(token: Buffer): { readonly user: KnownUser; readonly proof: string } | undefined {
    let fields: ReadonlyMap<string, string>;
    try {
      fields = parseDirectives(token.toString('utf8'));
    } catch {
      return undefined;
    }
    const field = (name: string): string => fields.get(name) ?? '';
    const username = field('username');
    const cnonce = field('cnonce');
    const { user, password } = this.users.byIdentifier(username);
    const asked = { username, password, realm: REALM, nonce: this.nonce, cnonce, uri: field('digest-uri') };
    const expected = Buffer.from(digestResponse(asked, 'AUTHENTICATE'));
    const given = Buffer.from(field('response'));
    const isRight = given.length === expected.length && timingSafeEqual(given, expected);
    const isOurs =
      field('nonce') === this.nonce &&
      field('nc') === COUNT &&
      (field('realm') || REALM) === REALM &&
      (field('qop') || 'auth') === 'auth' &&
      cnonce !== '';
    if (user === undefined || !isRight || !isOurs) return undefined;
    return { user, proof: `rspauth=${digestResponse(asked, '')}` };
  }
}

function refused(): LoginStep {
  const answer = Buffer.concat([int32(1), withLength(REFUSAL_CLASS), withLength(REFUSAL)]);
  return { answer, ended: { user: undefined }, rest: Buffer.alloc(0) };
}

function success(token: Buffer): Buffer {
  return Buffer.concat([int32(0), int32(token.length), token]);
}

function withLength(text: string): Buffer {
  return Buffer.concat([int32(Buffer.byteLength(text)), Buffer.from(text)]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
