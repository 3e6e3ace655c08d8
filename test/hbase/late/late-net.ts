import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Delivery } from '../../proof/late.js';

/** The preamble of a connection: "HBas", a version, a way to authenticate. */
const PREAMBLE = 6;
const LENGTH = 4;

/** What was kept back: the bytes of a request, and where it was sent. */
interface Kept {
  readonly address: { readonly host: string; readonly port: number };
  /** What a connection begins with: its preamble and its header. */
  readonly greeting: Buffer;
  readonly request: Buffer;
}

/**
 * Proxies on loopback, one for each server, through which a client is led by its address mapping. They cut what it sends into requests and
 * pass these on; one of those that change rows they keep, and deliver it when the connection has ended that it was sent over, as TCP may behind
 * a partition. `late`: it is kept when it comes; `last`: and nothing comes through any more; `twice`: it is passed on, and delivered again.
 */
export class LateNet {
  /** Requests that change rows since {@link keep}. */
  sent = 0;
  private at = Number.POSITIVE_INFINITY;
  private mode: Delivery = 'late';
  private kept: Kept | undefined;
  private isCut = false;
  private readonly proxies = new Map<string, Promise<Server>>();
  private readonly sockets = new Set<Socket>();

  /** What a client takes as its address mapping. */
  readonly resolveAddress = async (host: string, port: number): Promise<{ host: string; port: number }> => {
    const key = `${host}:${port}`;
    let proxy = this.proxies.get(key);
    if (proxy === undefined) {
      proxy = this.listen(host, port);
      this.proxies.set(key, proxy);
    }
    return { host: '127.0.0.1', port: ((await proxy).address() as AddressInfo).port };
  };

  /** Keeps the n-th request from now on that changes rows, counting from 0. */
  keep(n: number, mode: Delivery): void {
    this.sent = 0;
    this.at = n;
    this.mode = mode;
    this.kept = undefined;
  }

  get hasKept(): boolean {
    return this.kept !== undefined;
  }

  /** Ends every connection, and then has the request arrive that was kept. @returns when the server has answered it. */
  async deliver(): Promise<void> {
    this.end();
    const { address, greeting, request } = this.kept!;
    const socket = connect(address);
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.once('close', () => reject(new Error('The server has closed the connection.')));
        // The answer's first bytes say that it was made, or refused.
        socket.once('data', () => resolve());
        socket.write(Buffer.concat([greeting, request]));
      });
    } finally {
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    this.end();
    for (const proxy of this.proxies.values()) (await proxy).close();
  }

  private end(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private listen(host: string, port: number): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer((client) => this.link(client, { host, port }));
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => resolve(server));
    });
  }

  private link(client: Socket, address: Kept['address']): void {
    const server = connect(address);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      const end = (): void => {
        client.destroy();
        server.destroy();
        this.sockets.delete(socket);
      };
      socket.on('error', end);
      socket.on('close', end);
    }
    server.on('data', (chunk) => client.write(chunk));
    let greeting: Buffer | undefined;
    let rest: Buffer = Buffer.alloc(0);
    client.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const from = greeting === undefined ? PREAMBLE : 0;
        if (rest.length < from + LENGTH) return;
        const end = from + LENGTH + rest.readInt32BE(from);
        if (rest.length < end) return;
        const frame = rest.subarray(0, end);
        rest = rest.subarray(end);
        if (greeting === undefined) {
          greeting = Buffer.from(frame);
          server.write(frame);
        } else if (this.passes(address, greeting, frame)) server.write(frame);
      }
    });
  }

  private passes(address: Kept['address'], greeting: Buffer, frame: Buffer): boolean {
    if (this.isCut || !changesRows(frame)) return !this.isCut;
    if (this.sent++ !== this.at) return true;
    this.kept = { address, greeting, request: Buffer.from(frame) };
    this.isCut = this.mode === 'last';
    return this.mode === 'twice';
  }
}

/** A field of a message of protocol buffers: a number, or bytes. */
type Field = readonly [number: number, value: number | Buffer];

/** The numbers and byte fields of a message; others are passed over. */
function* fieldsOf(message: Buffer): Generator<Field> {
  const reader = { at: 0 };
  while (reader.at < message.length) {
    const tag = varint(message, reader);
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 0) yield [field, varint(message, reader)];
    else if (type === 2) {
      const length = varint(message, reader);
      yield [field, message.subarray(reader.at, reader.at + length)];
      reader.at += length;
    } else reader.at += type === 1 ? 8 : 4;
  }
}

function varint(bytes: Buffer, reader: { at: number }): number {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[reader.at++]!;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
}

function parts(message: Buffer, field: number): Buffer[] {
  return [...fieldsOf(message)].flatMap(([number, value]) =>
    number === field && typeof value !== 'number' ? [value] : [],
  );
}

const HEADER_METHOD = 3;
const MULTI_REGION_ACTION = 1;
const REGION_ACTION_ACTION = 3;
const ACTION_MUTATION = 2;

/** Whether a request is a `Mutate`, or a `Multi` with a mutation: `length int32 | header, with its length | parameter, with its length | cells`. */
function changesRows(frame: Buffer): boolean {
  const reader = { at: LENGTH };
  const take = (): Buffer => {
    const length = varint(frame, reader);
    reader.at += length;
    return frame.subarray(reader.at - length, reader.at);
  };
  const method = parts(take(), HEADER_METHOD)[0]?.toString();
  if (method === 'Mutate') return true;
  if (method !== 'Multi') return false;
  return parts(take(), MULTI_REGION_ACTION)
    .flatMap((region) => parts(region, REGION_ACTION_ACTION))
    .some((action) => parts(action, ACTION_MUTATION).length > 0);
}
