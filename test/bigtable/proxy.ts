import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/** Between an engine and an emulator: passes bytes on, cuts connections, or keeps what is sent to itself. */
export class CutProxy {
  /** "host:port" to which new connections go; undefined: they are refused. */
  target: string | undefined;
  /** Whether connections, old and new, get no answer. */
  silent = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** "host:port" at which it listens. */
    readonly host: string,
  ) {}

  static async start(target: string): Promise<CutProxy> {
    const server = createServer((near) => proxy.accept(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    const proxy = new CutProxy(server, `127.0.0.1:${port}`);
    proxy.target = target;
    return proxy;
  }

  private accept(near: Socket): void {
    near.on('error', () => undefined);
    if (this.target === undefined) {
      near.destroy();
      return;
    }
    const [host, port] = this.target.split(':') as [string, string];
    const far = dial(Number(port), host);
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (data) => far.write(data));
    far.on('data', (data) => {
      if (!this.silent) near.write(data);
    });
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
