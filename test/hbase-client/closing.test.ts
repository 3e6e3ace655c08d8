/** A process that has closed its engine has nothing left to wait for. */

import { execFile } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { Get } from '../../src/table/index.js';
import { bundleOfText } from '../bundle.js';
import { FakePeer } from './fake-peer.js';

const run = promisify(execFile);

/** Runs a program that prints "closed" when it closes; how long it lived on after that is bounded by the time-out. */
const END = 300_000;

describe('a connection that nobody uses', () => {
  it('is closed after a while, is no loss, and is opened again when it is asked for', async () => {
    const peer = await FakePeer.start();
    const lost: string[] = [];
    const engine = await connectHBase({
      masters: [peer.address],
      connectionIdleTimeout: 50,
      onEvent: ({ kind }) => {
        if (kind === 'disconnected') lost.push(kind);
      },
    });
    try {
      const table = engine.table('t');
      await table.get(new Get('r'));
      await expect.poll(() => engine.metrics().connections, { timeout: 10_000 }).toBe(0);
      const { lookups } = engine.metrics().regionCache;
      await table.get(new Get('r'));
      expect(engine.metrics().regionCache.lookups).toBe(lookups);
      expect(lost).toEqual([]);
    } finally {
      await engine.close();
      await peer.stop();
    }
  });

  it('but not while an answer is awaited', async () => {
    let answer: (() => void) | undefined;
    const peer = await FakePeer.start((request) => {
      if (request.method !== 'Get' || Buffer.from(request.param).includes('hbase:meta')) return false;
      answer = () => request.connection.fail(request.id, 'java.io.IOException', 'late', true);
      return true;
    });
    const engine = await connectHBase({ masters: [peer.address], connectionIdleTimeout: 20, retries: 0 });
    try {
      const get = engine.table('t').get(new Get('r'));
      await expect.poll(() => answer, { timeout: 10_000 }).toBeDefined();
      // Long enough for other connections to be closed, so the look has been taken.
      await expect.poll(() => engine.metrics().connections, { timeout: 10_000 }).toBe(1);
      answer?.();
      await expect(get).rejects.toMatchObject({ message: expect.stringContaining('late') });
    } finally {
      await engine.close();
      await peer.stop();
    }
  });
});

describe('a process that closes its engine', () => {
  let port: number;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });

  beforeEach(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as { port: number }).port;
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** What is under way, and its end. */
  const BODIES = {
    'while it connects': `const settings = resolveSettings({ ...options, tls: {} });
       const connection = new Connection({ host: '127.0.0.1', port }, 'ClientService', settings, settings.authenticator, new Observer(settings), ignore);
       await new Promise((resolve) => setTimeout(resolve, 50));
       connection.close();`,
    'while it resolves a name or authenticates': `for (const more of [
         { resolveAddress: () => new Promise(ignore) },
         { authenticator: { code: 0x51, negotiate: () => new Promise(ignore) } },
       ]) {
         const settings = resolveSettings({ ...options, ...more });
         const connection = new Connection({ host: '127.0.0.1', port }, 'ClientService', settings, settings.authenticator, new Observer(settings), ignore);
         await new Promise((resolve) => setTimeout(resolve, 50));
         connection.close();
       }`,
    'while operations wait for a lookup or their next attempt': `const cluster = new Cluster(resolveSettings({ ...options, masters: ['127.0.0.1:1'] }));
       new HBaseTable(cluster, 't').get(new Get('r')).catch(ignore);
       await new Promise((resolve) => setTimeout(resolve, 100));
       await cluster.close();`,
  };

  const PROGRAM = `
    const { Connection } = await import('./src/hbase/rpc/connection.ts');
    const { Observer } = await import('./src/hbase/observe/observer.ts');
    const { resolveSettings } = await import('./src/hbase/options.ts');
    const { Cluster } = await import('./src/hbase/client/cluster.ts');
    const { HBaseTable } = await import('./src/hbase/client/hbase-table.ts');
    const { Get } = await import('./src/table/index.ts');
    const port = Number(process.argv[3]);
    const hour = 3_600_000;
    const options = { masters: ['127.0.0.1:' + port], connectTimeout: hour, operationTimeout: hour, rpcTimeout: hour, pause: hour };
    const ignore = () => undefined;
    const bodies = {
      ${Object.entries(BODIES)
        .map(([name, body]) => `'${name}': async () => { ${body} }`)
        .join(',\n')}
    };
    await bodies[process.argv[2]]();
    console.log('closed');`;

  it.each(Object.keys(BODIES))('ends at once: %s', async (name) => {
    const { stdout } = await run(process.execPath, [bundleOfText(PROGRAM), name, String(port)], {
      timeout: END,
    });
    expect(stdout).toBe('closed\n');
  });
});
