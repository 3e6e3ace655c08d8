/** A ZooKeeper with a few nodes, as far as reading them goes. */

import { createServer, type Server, type Socket } from 'node:net';

export const int32 = (...values: number[]): Buffer => {
  const out = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) out.writeInt32BE(value, i * 4);
  return out;
};
export const framed = (body: Buffer): Buffer => Buffer.concat([int32(body.length), body]);
/** As HBase writes a znode: ff, an id behind its length, PBUF, the message. */
export const znode = (message: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(0xff), int32(9), Buffer.from('master:12'), Buffer.from('PBUF'), message]);

const OP_GET_DATA = 4;

/** What a test does with a reply; undefined: it is sent as it is. */
type Meddle = (reply: Buffer, socket: Socket) => boolean;

export class FakeZooKeeper {
  /** True: the reply was seen to. */
  meddle: Meddle = () => false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly nodes: Readonly<Record<string, Buffer>>,
  ) {
    server.on('connection', (socket: Socket) => this.serve(socket));
  }

  static async start(nodes: Readonly<Record<string, Buffer>>): Promise<FakeZooKeeper> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeZooKeeper(server, nodes);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let data = Buffer.alloc(0);
    let connected = false;
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      data = Buffer.concat([data, chunk]);
      while (data.length >= 4 && data.length >= 4 + data.readInt32BE(0)) {
        const body = data.subarray(4, 4 + data.readInt32BE(0));
        data = data.subarray(4 + body.length);
        const reply = connected
          ? this.replyTo(body)
          : Buffer.concat([int32(0, 10_000, 0, 1, 16), Buffer.alloc(17)]);
        connected = true;
        if (reply !== undefined && !this.meddle(framed(reply), socket)) socket.write(framed(reply));
      }
    });
  }

  private replyTo(body: Buffer): Buffer | undefined {
    const [xid, operation] = [body.readInt32BE(0), body.readInt32BE(4)];
    if (operation !== OP_GET_DATA) return undefined;
    const found = this.nodes[body.toString('utf8', 12, 12 + body.readInt32BE(8))];
    const head = Buffer.concat([int32(xid, 0, 7), int32(found === undefined ? -101 : 0)]);
    const rest = found === undefined ? [] : [int32(found.length), found, Buffer.alloc(68)];
    return Buffer.concat([head, ...rest]);
  }
}
