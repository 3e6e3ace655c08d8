/**
 * The exchange of SASL tokens between the preamble and the connection header (`HBaseSaslRpcClient`):
 *
 *     client:  int32 length | token
 *     server:  int32 status; 0: int32 length | token; else two strings, class and message, each int32 length | UTF-8
 *
 * A server that does no SASL answers length -88: go on without.
 */

import type { Socket } from 'node:net';
import { RowanError } from '../../errors.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import type { Authenticated, SecurityLayer } from './authenticator.js';
import { refusedBy } from './last-word.js';

/** One side of a SASL exchange. */
export interface SaslSession {
  /** The first token, to be sent unasked. */
  start(): Promise<Uint8Array>;
  /** The answer to a token of the server; undefined: nothing to send. */
  respond(challenge: Uint8Array): Promise<Uint8Array | undefined>;
  readonly isComplete: boolean;
  /** What passes the connection's bytes from then on; undefined: nothing. */
  readonly layer: SecurityLayer | undefined;
}

const SUCCESS = 0;
const SWITCH_TO_SIMPLE = -88;
const LONGEST_TOKEN = 1 << 20;

/**
 * Runs the exchange to its end.
 * @throws RowanError `ERR_SECURITY` when the server refuses, or wants no SASL and `allowSimple` is false.
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

/** Reads exact numbers of bytes from a socket; what is left over goes back to it. */
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
