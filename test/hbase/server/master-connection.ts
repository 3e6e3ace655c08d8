import { connect, type Socket } from 'node:net';

/** `GetProcedureResultResponse`: state and exception. */
const FINISHED = 2n;
const PROCEDURE_EXCEPTION = 5;

/**
 * A connection to the master that owes nothing to the client under test: one call at a time, messages put together by
 * hand. It prepares servers for tests and moves regions about under the client's feet.
 */
export class MasterConnection {
  private received: Buffer = Buffer.alloc(0);
  private waiting: { resolve(frame: Buffer): void; reject(error: Error): void } | undefined;
  private ended: Error | undefined;
  private callId = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.deliver();
    });
    socket.on('error', (error) => this.fail(error));
    socket.on('timeout', () => this.fail(new Error('The master did not answer in time.')));
    socket.on('close', () => this.fail(new Error('The master closed the connection.')));
  }

  static open(host: string, port: number, timeout: number): Promise<MasterConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, timeout });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        const connection = new MasterConnection(socket);
        const user = bytesField(1, bytesField(1, Buffer.from('probe')));
        const header = Buffer.concat([user, bytesField(2, Buffer.from('MasterService')), versionInfo()]);
        socket.write(Buffer.concat([Buffer.from('HBas\0\x50', 'latin1'), int32(header.length), header]));
        resolve(connection);
      });
    });
  }

  /** Calls a method that answers a procedure id, and waits until the procedure has finished. */
  async procedure(method: string, request: Buffer): Promise<void> {
    const id = varintOf(await this.call(method, request), 1);
    for (;;) {
      const answer = await this.call('getProcedureResult', varintField(1, id ?? 0n));
      const failure = fieldOf(answer, PROCEDURE_EXCEPTION);
      if (failure !== undefined)
        throw new Error(`${method} failed: ${String(failure).replace(/[^ -~]+/g, ' ')}`);
      if (varintOf(answer, 1) === FINISHED) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  close(): void {
    this.socket.destroy();
  }

  /** @throws Error with the class and the first line of the exception that the master answers. */
  async call(method: string, request: Buffer): Promise<Buffer> {
    const header = Buffer.concat([
      varintField(1, BigInt(++this.callId)),
      bytesField(3, Buffer.from(method)),
      varintField(4, 1n),
      varintField(7, 10_000n),
    ]);
    const body = Buffer.concat([
      varint(BigInt(header.length)),
      header,
      varint(BigInt(request.length)),
      request,
    ]);
    if (this.ended !== undefined) throw this.ended;
    const answer = new Promise<Buffer>((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
    this.socket.write(Buffer.concat([int32(body.length), body]));
    const frame = await answer;
    const [headerLength, start] = readVarint(frame, 0);
    const end = start + Number(headerLength);
    const exception = fieldOf(frame.subarray(start, end), 2);
    if (exception !== undefined) {
      const name = String(fieldOf(exception as Buffer, 1));
      throw new Error(`${name}: ${String(fieldOf(exception as Buffer, 2)).split('\n', 1)[0]}`);
    }
    const [length, from] = readVarint(frame, end);
    return frame.subarray(from, from + Number(length));
  }

  private deliver(): void {
    if (this.received.length < 4 || this.received.length < 4 + this.received.readInt32BE(0)) return;
    const end = 4 + this.received.readInt32BE(0);
    const frame = this.received.subarray(4, end);
    this.received = this.received.subarray(end);
    this.waiting?.resolve(frame);
    this.waiting = undefined;
  }

  private fail(error: Error): void {
    this.ended ??= error;
    this.socket.destroy();
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}

/** 2.6: without it the master answers as to an old client, and blocks instead of giving a procedure id. */
function versionInfo(): Buffer {
  const texts = [1, 2, 3, 4, 5, 6].map((field) => bytesField(field, Buffer.from('-')));
  return bytesField(5, Buffer.concat([...texts, varintField(7, 2n), varintField(8, 6n)]));
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function readVarint(bytes: Buffer, offset: number): [bigint, number] {
  let value = 0n;
  let shift = 0n;
  let at = offset;
  for (;;) {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error('A message of the master ends too early.');
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
    shift += 7n;
  }
}

export function varintField(field: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(field << 3)), varint(value)]);
}

export function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(BigInt((field << 3) | 2)), varint(BigInt(value.length)), value]);
}

/** The first field of this number; only the two wire types that these answers use. */
function fieldOf(message: Buffer, wanted: number): Buffer | bigint | undefined {
  let at = 0;
  while (at < message.length) {
    const [tag, afterTag] = readVarint(message, at);
    const [value, afterValue] = readVarint(message, afterTag);
    const isBytes = (tag & 7n) === 2n;
    const end = isBytes ? afterValue + Number(value) : afterValue;
    if (Number(tag >> 3n) === wanted) return isBytes ? message.subarray(afterValue, end) : value;
    at = end;
  }
  return undefined;
}

function varintOf(message: Buffer, field: number): bigint | undefined {
  const value = fieldOf(message, field);
  return typeof value === 'bigint' ? value : undefined;
}
