import type { Socket } from 'node:net';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { FrameAssembler } from '../rpc/frames.js';
import type { Authenticated, SecurityLayer } from './authenticator.js';

const SUCCESS = 0;
const ERROR = 1;
const LONGEST_REFUSAL = 1 << 16;

/**
 * Reads the message that a server may still send after the authentication is complete for the client: a late refusal, or a repeated
 * success. It precedes the first answer, in the format of the exchange, and cannot be mistaken for one, because no answer has a length
 * of 0 or 1 bytes.
 */
export class FinalStatus {
  private data: Buffer = Buffer.alloc(0);

  constructor(private readonly server: string) {}

  /**
   * @returns the bytes after the message; undefined: more bytes are needed.
   * @throws RowanError `ERR_SECURITY` when the server refuses.
   */
  push(chunk: Buffer): Buffer | undefined {
    this.data = this.data.length === 0 ? chunk : Buffer.concat([this.data, chunk]);
    const { data } = this;
    if (data.length < 4) return undefined;
    const status = data.readInt32BE(0);
    if (status === SUCCESS) return this.bytesAfterToken();
    if (status !== ERROR) return data;
    const name = this.textAt(4);
    const message = name === undefined ? undefined : this.textAt(name.end);
    if (name === undefined || message === undefined) return undefined;
    throw refusedBy(this.server, name.text, message.text);
  }

  private bytesAfterToken(): Buffer | undefined {
    const token = this.textAt(4);
    if (token === undefined) return undefined;
    const rest = this.data.subarray(token.end);
    this.data = Buffer.alloc(0);
    return rest.length === 0 ? undefined : this.push(rest);
  }

  private textAt(at: number): { readonly text: string; readonly end: number } | undefined {
    const { data } = this;
    if (data.length < at + 4) return undefined;
    const length = data.readInt32BE(at);
    if (length < 0 || length > LONGEST_REFUSAL) {
      throw new ProtocolError(`The server announced ${length} bytes about the authentication.`);
    }
    const end = at + 4 + length;
    return data.length < end ? undefined : { text: data.toString('utf8', at + 4, end), end };
  }
}

const LONGEST_SHOWN = 300;

/** The error of a refused authentication, with the server's message. */
function refusedBy(server: string, className: string, message: string): RowanError {
  const shown = (text: string): string =>
    text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return new RowanError(
    'ERR_SECURITY',
    `HBase server ${server} refused the authentication: ${shown(className)}: ${shown(message)}. Check the principal ` +
      'and its ticket.',
    { details: { server, exceptionClass: shown(className) } },
  );
}

// — The exchange of SASL tokens between the preamble and the connection header (`HBaseSaslRpcClient`):
//
//     client:  int32 length | token
//     server:  int32 status; 0: int32 length | token; else two strings, class and message, each int32 length | UTF-8
//
// A server without SASL answers length -88: continue without it.

/** One side of a SASL exchange. */
export interface SaslSession {
  /** The first token, sent before the server's. */
  start(): Promise<Uint8Array>;
  /** @returns the answer to a token of the server; undefined: nothing to send. */
  respond(challenge: Uint8Array): Promise<Uint8Array | undefined>;
  readonly isComplete: boolean;
  /** The security layer of the connection; undefined: none. */
  readonly layer: SecurityLayer | undefined;
}
const SWITCH_TO_SIMPLE = -88;
const LONGEST_TOKEN = 1 << 20;

/**
 * Runs the exchange to its end.
 * @throws RowanError `ERR_SECURITY` when the server refuses, or uses no SASL and `allowSimple` is false.
 */
export async function negotiateSasl(
  socket: Socket,
  session: SaslSession,
  server: string,
  allowSimple: boolean,
): Promise<Authenticated> {
  const input = new SocketReader(socket);
  try {
    send(socket, await session.start());
    while (!session.isComplete) {
      if ((await input.int32()) !== SUCCESS) throw await refusal(input, server);
      const length = await input.int32();
      if (length === SWITCH_TO_SIMPLE) {
        if (allowSimple) return { isSimple: true };
        throw new RowanError(
          'ERR_SECURITY',
          `HBase server ${server} does not authenticate, and was to. Connect without the authenticator, or set its ` +
            'option fallbackToSimple.',
        );
      }
      const response = await session.respond(await input.bytes(length));
      if (response !== undefined) send(socket, response);
    }
    return { layer: session.layer };
  } finally {
    input.release();
  }
}

function send(socket: Socket, token: Uint8Array): void {
  const data = Buffer.alloc(4 + token.length);
  data.writeInt32BE(token.length);
  data.set(token, 4);
  socket.write(data);
}

async function refusal(input: SocketReader, server: string): Promise<RowanError> {
  const name = Buffer.from(await input.bytes(await input.int32())).toString('utf8');
  const message = Buffer.from(await input.bytes(await input.int32())).toString('utf8');
  return refusedBy(server, name, message);
}

/** Reads exact numbers of bytes from a socket, and returns the rest to it. */
class SocketReader {
  private data: Buffer = Buffer.alloc(0);
  private wake: (() => void) | undefined;
  private ended = false;
  private readonly onData = (chunk: Buffer): void => {
    this.data = Buffer.concat([this.data, chunk]);
    this.wake?.();
  };
  private readonly onEnd = (): void => {
    this.ended = true;
    this.wake?.();
  };

  constructor(private readonly socket: Socket) {
    socket.on('data', this.onData);
    socket.on('close', this.onEnd);
  }

  async int32(): Promise<number> {
    return (await this.take(4)).readInt32BE();
  }

  async bytes(length: number): Promise<Uint8Array> {
    if (length < 0 || length > LONGEST_TOKEN) {
      throw new ProtocolError(`The server announced a SASL token of ${length} bytes.`);
    }
    return this.take(length);
  }

  release(): void {
    this.socket.off('data', this.onData);
    this.socket.off('close', this.onEnd);
    this.socket.pause();
    if (this.data.length > 0 && !this.socket.destroyed) this.socket.unshift(this.data);
  }

  private async take(length: number): Promise<Buffer> {
    while (this.data.length < length) {
      if (this.ended)
        throw new ConnectionError('The server closed the connection during the authentication.');
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    const taken = this.data.subarray(0, length);
    this.data = this.data.subarray(length);
    return taken;
  }
}

/** The levels of `hbase.rpc.protection`: authentication, integrity, privacy. */
export const PROTECTIONS = ['authentication', 'integrity', 'privacy'] as const;
export type Protection = (typeof PROTECTIONS)[number];

/** Their SASL names (RFC 2831). */
const QOP: Readonly<Record<Protection, string>> = {
  authentication: 'auth',
  integrity: 'auth-int',
  privacy: 'auth-conf',
};

/** The SASL name of a level. */
export function qopOf(protection: Protection): string {
  return QOP[protection];
}

/**
 * The levels of the option `protection`, in order of preference; default: all, the lowest first.
 * @throws InvalidArgumentError for an unknown level.
 */
export function protectionsOf(option: Protection | readonly Protection[] | undefined): readonly Protection[] {
  const list: readonly Protection[] =
    option === undefined ? PROTECTIONS : typeof option === 'string' ? [option] : option;
  const isSound = Array.isArray(list) && list.length > 0 && list.every((one) => PROTECTIONS.includes(one));
  if (isSound) return list;
  throw new InvalidArgumentError(
    `protection is "authentication", "integrity" or "privacy", or several of them in an array, not ${describe(option)}.`,
  );
}

/**
 * The first of `wanted` that a server offers.
 * @throws RowanError `ERR_SECURITY` when it offers none of them.
 */
export function chooseProtection(
  wanted: readonly Protection[],
  offered: readonly Protection[],
  server: string,
): Protection {
  const chosen = wanted.find((protection) => offered.includes(protection));
  if (chosen !== undefined) return chosen;
  throw new RowanError(
    'ERR_SECURITY',
    `HBase server ${server} offers the protection ${offered.join(', ') || 'of nothing known'}, and only ` +
      `${wanted.join(', ')} is accepted. Change the option protection, or hbase.rpc.protection of the servers.`,
    { details: { server } },
  );
}

/** Signs or seals single messages, in order. */
export interface MessageLayer {
  wrap(message: Buffer): Buffer | Promise<Buffer>;
  /** @throws RowanError when the message was changed on the way. */
  unwrap(message: Buffer): Buffer | Promise<Buffer>;
}

/** The most bytes wrapped at once: the limit of Java's SASL, less the overhead of signing and sealing. */
const LARGEST_PART = 60_000;
/** The largest wrapped message of a server, which wraps an answer as a whole. */
const LARGEST_MESSAGE = 1 << 30;

/** A stream of wrapped messages as HBase sends it: `int32 length | wrapped`. */
export class WrappedStream implements SecurityLayer {
  private readonly arrived: Buffer[] = [];
  private readonly frames = new FrameAssembler(LARGEST_MESSAGE, {
    frame: (buffer, start, end) => this.arrived.push(buffer.subarray(start, end)),
    oversized: (_buffer, _start, _end, length) => {
      throw new ProtocolError(`The server announced a wrapped message of ${length} bytes.`);
    },
  });

  constructor(private readonly layer: MessageLayer) {}

  async wrap(data: Buffer): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let at = 0; at < data.length; at += LARGEST_PART) {
      const wrapped = await this.layer.wrap(data.subarray(at, at + LARGEST_PART));
      const length = Buffer.alloc(4);
      length.writeInt32BE(wrapped.length);
      parts.push(length, wrapped);
    }
    return Buffer.concat(parts);
  }

  async unwrap(data: Buffer): Promise<Buffer[]> {
    this.frames.push(data);
    const messages: Buffer[] = [];
    for (const message of this.arrived.splice(0)) messages.push(await this.layer.unwrap(message));
    return messages;
  }
}
