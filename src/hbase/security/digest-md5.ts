import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { RowanError } from '../../errors.js';
import { ProtocolError } from '../rpc/errors.js';
import {
  chooseProtection,
  type MessageLayer,
  PROTECTIONS,
  type Protection,
  qopOf,
  type SaslSession,
  WrappedStream,
} from './sasl.js';

/**
 * RC4, the cipher of `auth-conf` in DIGEST-MD5 (RFC 2831, 2.4). It is weak, and OpenSSL 3 has it only in its legacy provider; HBase's
 * servers support no better one in this mechanism.
 */
export class Rc4 {
  private readonly state = Uint8Array.from({ length: 256 }, (_, i) => i);
  private i = 0;
  private j = 0;

  constructor(key: Uint8Array) {
    const { state } = this;
    for (let i = 0, j = 0; i < 256; i++) {
      j = (j + state[i]! + key[i % key.length]!) & 255;
      const kept = state[i]!;
      state[i] = state[j]!;
      state[j] = kept;
    }
  }

  /** Encrypts or decrypts the next bytes of the stream. */
  apply(data: Uint8Array): Buffer {
    const { state } = this;
    const out = Buffer.allocUnsafe(data.length);
    let { i, j } = this;
    for (let at = 0; at < data.length; at++) {
      i = (i + 1) & 255;
      const a = state[i]!;
      j = (j + a) & 255;
      const b = state[j]!;
      state[i] = b;
      state[j] = a;
      out[at] = data[at]! ^ state[(a + b) & 255]!;
    }
    this.i = i;
    this.j = j;
    return out;
  }
}

const MAC_LENGTH = 10;
/** Message type 1 and the number of the message. */
const TRAILER = Buffer.from([0, 1]);
const TRAILER_LENGTH = TRAILER.length + 4;

const md5OfParts = (...parts: readonly (Buffer | string)[]): Buffer => {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** One direction of the stream. */
class Direction {
  private count = 0;
  private readonly signing: Buffer;
  readonly cipher: Rc4 | undefined;

  constructor(ha1: Buffer, name: string, seals: boolean) {
    this.signing = md5OfParts(ha1, `Digest session key to ${name} signing key magic constant`);
    this.cipher = seals
      ? new Rc4(md5OfParts(ha1, `Digest H(A1) to ${name} sealing key magic constant`))
      : undefined;
  }

  /** @returns the signature and number of the next message. */
  next(message: Buffer): { readonly mac: Buffer; readonly number: Buffer } {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(this.count);
    this.count = (this.count + 1) >>> 0;
    const mac = createHmac('md5', this.signing).update(number).update(message).digest();
    return { mac: mac.subarray(0, MAC_LENGTH), number };
  }
}

/**
 * Signing and sealing of messages with DIGEST-MD5 (RFC 2831, 2.3 and 2.4). Signs every message; with `seals` encrypts
 * it, too: `message | mac[10] | 0x0001 | int32 number`, of which message and mac are encrypted.
 */
export class DigestLayer implements MessageLayer {
  private readonly sent: Direction;
  private readonly received: Direction;

  /** Of the client's side; with `isServer` the server's. */
  constructor(ha1: Buffer, seals: boolean, isServer = false) {
    const toServer = new Direction(ha1, 'client-to-server', seals);
    const toClient = new Direction(ha1, 'server-to-client', seals);
    this.sent = isServer ? toClient : toServer;
    this.received = isServer ? toServer : toClient;
  }

  wrap(message: Buffer): Buffer {
    const { mac, number } = this.sent.next(message);
    const signed = Buffer.concat([message, mac]);
    return Buffer.concat([this.sent.cipher?.apply(signed) ?? signed, TRAILER, number]);
  }

  /** @throws ProtocolError when the message is out of order or was changed. */
  unwrap(wrapped: Buffer): Buffer {
    const end = wrapped.length - TRAILER_LENGTH;
    if (end < MAC_LENGTH) throw new ProtocolError('A signed message of the server is too short.');
    const body = wrapped.subarray(0, end);
    const signed = this.received.cipher?.apply(body) ?? body;
    const message = signed.subarray(0, end - MAC_LENGTH);
    const { mac, number } = this.received.next(message);
    const isSound =
      timingSafeEqual(signed.subarray(end - MAC_LENGTH), mac) &&
      wrapped.subarray(end, end + TRAILER.length).equals(TRAILER) &&
      wrapped.subarray(end + TRAILER.length).equals(number);
    if (!isSound) throw new ProtocolError('A signed message was changed on its way, or is not the next one.');
    return message;
  }
}

// — SASL DIGEST-MD5 (RFC 2831), which HBase uses for delegation tokens and ZooKeeper for passwords.

/** User, password and service. */
interface DigestCredentials {
  readonly username: string;
  readonly password: string;
  /** `protocol/host` as configured on the server: HBase "null/default", ZooKeeper "zookeeper/zk-sasl-md5". */
  readonly uri: string;
}

/** The longest challenge (RFC 2831, 2.1.1). */
const LONGEST_CHALLENGE = 2048;
/** The largest wrapped message, as HBase's own client announces. */
const MAX_BUFFER = 65536;
const COUNT = '00000001';
/** In place of the body's hash, for signed and sealed connections. */
const NO_BODY = `:${'0'.repeat(32)}`;

/** The client's side of the exchange. */
export class DigestSession implements SaslSession {
  isComplete = false;
  layer: WrappedStream | undefined;
  private expected: string | undefined;
  private awaited: WrappedStream | undefined;

  constructor(
    private readonly credentials: DigestCredentials,
    private readonly accepted: readonly Protection[],
    private readonly server: string,
    private readonly cnonce: string = randomBytes(24).toString('base64'),
  ) {}

  /** None: the server sends the first token. */
  async start(): Promise<Uint8Array> {
    return new Uint8Array(0);
  }

  /** @throws RowanError `ERR_SECURITY` when the server fails to prove that it knows the secret. */
  async respond(challenge: Uint8Array): Promise<Uint8Array | undefined> {
    if (challenge.length > LONGEST_CHALLENGE) {
      throw new ProtocolError(`The server sent a challenge of ${challenge.length} bytes.`);
    }
    const fields = parseDirectives(Buffer.from(challenge).toString('utf8'));
    if (this.expected === undefined) return Buffer.from(this.answer(fields), 'utf8');
    if (fields.get('rspauth') !== this.expected) {
      throw new RowanError(
        'ERR_SECURITY',
        `HBase server ${this.server} could not show that it knows the secret. It is not the one it is taken for.`,
        { details: { server: this.server } },
      );
    }
    this.layer = this.awaited;
    this.isComplete = true;
    return undefined;
  }

  private answer(challenge: ReadonlyMap<string, string>): string {
    const nonce = challenge.get('nonce');
    if (nonce === undefined || challenge.get('algorithm') !== 'md5-sess') {
      throw new ProtocolError('The server sent no DIGEST-MD5 challenge.');
    }
    const offers = (challenge.get('qop') ?? 'auth').split(',').map((qop) => qop.trim());
    const ciphers = (challenge.get('cipher') ?? '').split(',').map((cipher) => cipher.trim());
    const offered = PROTECTIONS.filter(
      (one) => offers.includes(qopOf(one)) && (one !== 'privacy' || ciphers.includes('rc4')),
    );
    const protection = chooseProtection(this.accepted, offered, this.server);
    const { username, uri } = this.credentials;
    const realm = challenge.get('realm') ?? '';
    const asked = { ...this.credentials, realm, nonce, cnonce: this.cnonce };
    const ha1 = sessionHash(asked);
    const qop = qopOf(protection);
    const response = (method: string): string => digestResponse(asked, method, protection);
    this.expected = response('');
    if (protection !== 'authentication') {
      this.awaited = new WrappedStream(new DigestLayer(ha1, protection === 'privacy'));
    }
    const directives = [
      'charset=utf-8',
      `username=${quoted(username)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `nc=${COUNT}`,
      `cnonce=${quoted(this.cnonce)}`,
      `digest-uri=${quoted(uri)}`,
      `maxbuf=${MAX_BUFFER}`,
      `response=${response('AUTHENTICATE')}`,
      `qop=${qop}`,
    ];
    if (protection === 'privacy') directives.push('cipher=rc4');
    return directives.join(',');
  }
}

/** The values of an exchange that both sides know. */
interface DigestExchange extends DigestCredentials {
  readonly realm: string;
  readonly nonce: string;
  readonly cnonce: string;
}

function sessionHash({ username, realm, password, nonce, cnonce }: DigestExchange): Buffer {
  return md5(md5(hashed(username), ':', hashed(realm), ':', hashed(password)), `:${nonce}:${cnonce}`);
}

/** The proof of knowing the password: the client's uses the method `AUTHENTICATE`, the server's none. */
export function digestResponse(
  exchange: DigestExchange,
  method: string,
  protection: Protection = 'authentication',
): string {
  const suffix = protection === 'authentication' ? '' : NO_BODY;
  const ha2 = md5(`${method}:${exchange.uri}${suffix}`).toString('hex');
  const { nonce, cnonce } = exchange;
  const text = `${sessionHash(exchange).toString('hex')}:${nonce}:${COUNT}:${cnonce}:${qopOf(protection)}:${ha2}`;
  return md5(text).toString('hex');
}

function md5(...parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Text that fits into ISO 8859-1 is hashed in that encoding (RFC 2831, 2.1.2.1). */
function hashed(text: string): Buffer {
  const fits = [...text].every((character) => character.charCodeAt(0) <= 0xff);
  return Buffer.from(text, fits ? 'latin1' : 'utf8');
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

const DIRECTIVE = /\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)/gy;

/** Parses `name=value, name="value"`. The first value of a name counts. @throws ProtocolError for malformed text. */
export function parseDirectives(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  DIRECTIVE.lastIndex = 0;
  while (DIRECTIVE.lastIndex < text.length) {
    const match = DIRECTIVE.exec(text);
    if (match === null) throw new ProtocolError('The server sent a malformed DIGEST-MD5 challenge.');
    const [, name = '', inQuotes, bare = ''] = match;
    if (!fields.has(name)) fields.set(name, inQuotes?.replace(/\\(.)/g, '$1') ?? bare);
  }
  return fields;
}
