/** What passes the messages after DIGEST-MD5 (RFC 2831, 2.3 and 2.4). */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { ProtocolError } from '../rpc/errors.js';
import { Rc4 } from './rc4.js';
import type { MessageLayer } from './wrapped-stream.js';

const MAC_LENGTH = 10;
/** Message type 1 and the number of the message. */
const TRAILER = Buffer.from([0, 1]);
const TRAILER_LENGTH = TRAILER.length + 4;

const md5 = (...parts: readonly (Buffer | string)[]): Buffer => {
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
    this.signing = md5(ha1, `Digest session key to ${name} signing key magic constant`);
    this.cipher = seals ? new Rc4(md5(ha1, `Digest H(A1) to ${name} sealing key magic constant`)) : undefined;
  }

  /** The signature of the next message, and its number. */
  next(message: Buffer): { readonly mac: Buffer; readonly number: Buffer } {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(this.count);
    this.count = (this.count + 1) >>> 0;
    const mac = createHmac('md5', this.signing).update(number).update(message).digest();
    return { mac: mac.subarray(0, MAC_LENGTH), number };
  }
}

/**
 * Signs every message, and seals it with `seals` too: `message | mac[10] | 0x0001 | int32 number`, of which message and mac
 * are enciphered.
 */
export class DigestLayer implements MessageLayer {
  private readonly sent: Direction;
  private readonly received: Direction;

  /** For a client; with `isServer` the other side. */
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

  /** @throws ProtocolError when the message is not the next one, or is not as it was sent. */
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
