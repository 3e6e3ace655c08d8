import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** In which direction bytes are counted before a cut: what the client sends, or what the server answers. */
export type Direction = 'request' | 'response';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes that may still pass in each direction before the link is cut. */
  readonly left: Record<Direction, number>;
  passed: number;
}

/**
 * Proxies on loopback, one for each server, through which a client is led by its address mapping. They pass bytes on
 * as they come, and can cut connections after any number of bytes, or hold all bytes back.
 */
export class ProxyNet {
  private readonly proxies = new Map<string, Promise<Server>>();
  private readonly links = new Set<Link>();
  private held: Promise<void> | undefined;
  private releaseHeld: (() => void) | undefined;
  /** Connections that were cut while bytes were passing. */
  cuts = 0;

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

  /** Connections that are open now. */
  get open(): number {
    return this.links.size;
  }

  /** Cuts every connection that is open now after this many further bytes: in the middle of a frame, mostly. */
  cutAfter(direction: Direction, bytes: number): void {
    for (const link of this.links) link.left[direction] = bytes;
  }

  /** Holds all bytes back until {@link release}: connections that are open and silent. */
  hold(): void {
    this.held ??= new Promise((resolve) => {
      this.releaseHeld = resolve;
    });
  }

  release(): void {
    this.releaseHeld?.();
    this.held = undefined;
  }

  async close(): Promise<void> {
    this.release();
    for (const link of this.links) this.end(link);
    for (const proxy of this.proxies.values()) (await proxy).close();
  }

  private listen(host: string, port: number): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer((client) => this.link(client, connect({ host, port })));
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => resolve(server));
    });
  }

  private link(client: Socket, server: Socket): void {
    const link: Link = {
      client,
      server,
      left: { request: Number.POSITIVE_INFINITY, response: Number.POSITIVE_INFINITY },
      passed: 0,
    };
    this.links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end(link));
      socket.on('close', () => this.end(link));
    }
    client.on('data', (chunk) => this.pass(link, 'request', chunk));
    server.on('data', (chunk) => this.pass(link, 'response', chunk));
  }

  private async pass(link: Link, direction: Direction, chunk: Buffer): Promise<void> {
    if (this.held !== undefined) await this.held;
    const allowed = link.left[direction];
    const to = direction === 'request' ? link.server : link.client;
    if (chunk.length < allowed) {
      link.left[direction] -= chunk.length;
      link.passed += chunk.length;
      to.write(chunk);
      return;
    }
    link.left.request = 0;
    link.left.response = 0;
    if (allowed === 0 || !this.links.has(link)) return this.end(link);
    this.cuts++;
    to.write(chunk.subarray(0, allowed), () => this.end(link));
  }

  private end(link: Link): void {
    this.links.delete(link);
    link.client.destroy();
    link.server.destroy();
  }
}
