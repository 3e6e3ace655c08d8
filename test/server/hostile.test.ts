/** Clients that send anything: the server ends them or answers them, and goes on with the others. */

import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { filters, Get, Increment, Put, RowMutations, Scan, tableDescriptor } from '../../src/table/index.js';
import { mutate } from '../fuzz/mutate.js';
import { Random } from '../hbase/differential/random.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { RawClient } from './raw-client.js';
import { Served } from './served.js';

const FRAMES = scaled(600, 20_000, 100_000);
const SEED = Number(process.env['ROWAN_SEED'] ?? 1);
/** Sent over one connection before the next one. */
const AT_ONCE = 20;

/** What this project's client sends in the course of everything it does, connection by connection. */
async function recorded(served: Served): Promise<Buffer[]> {
  const sent: Buffer[][] = [];
  const sockets: Socket[] = [];
  const port = Number(served.endpoint.split(':')[1]);
  const proxy = createServer((socket) => {
    const there = connectSocket(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    sent.push(chunks);
    sockets.push(socket, there);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      there.write(chunk);
    });
    there.on('data', (chunk) => socket.write(chunk));
    for (const each of [socket, there]) each.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const proxied = { host: '127.0.0.1', port: (proxy.address() as { port: number }).port };
  const engine = await connectHBase({
    masters: [`127.0.0.1:${proxied.port}`],
    resolveAddress: () => proxied,
  });
  await engine.admin.createTable(tableDescriptor('hostile', { f: {} }), [Buffer.from('m')]);
  const table = engine.table('hostile');
  await table.putAll([new Put('a').addColumn('f', 'q', 'v'), new Put('z').addColumn('f', 'q', 'v')]);
  await table.increment(new Increment('a').addColumn('f', 'n', 1n));
  await table.mutateRow(new RowMutations('a').add(new Put('a').addColumn('f', 'p', 'v')));
  await table.get(new Get('a').setFilter(filters.all(filters.prefix('a'), filters.keyOnly())));
  for await (const _ of table.scan(new Scan().setFilter(filters.row('EQUAL', 'a')))) break;
  await engine.admin.flush('hostile');
  await engine.admin.listTables();
  await engine.close();
  for (const socket of sockets) socket.destroy();
  proxy.close();
  return sent.map((chunks) => Buffer.concat(chunks)).filter((bytes) => bytes.length > 0);
}

/** Takes what a connection sent apart: its greeting, and its requests. */
function framesOf(bytes: Buffer): { greeting: Buffer; requests: Buffer[] } {
  let at = 10 + bytes.readInt32BE(6);
  const greeting = bytes.subarray(0, at);
  const requests: Buffer[] = [];
  while (at + 4 <= bytes.length) {
    const end = at + 4 + bytes.readInt32BE(at);
    requests.push(bytes.subarray(at, end));
    at = end;
  }
  return { greeting, requests };
}

/** Mostly the header stays, and the length fits, so that what is in the message and the cells is looked at. */
function damagedRequest(request: Buffer, next: () => number): Buffer {
  const kept = next() < 0.85 ? 5 + request[4]! : 4;
  const damaged = Buffer.concat([
    request.subarray(0, kept),
    mutate(Uint8Array.from(request.subarray(kept)), next),
  ]);
  if (next() < 0.97) damaged.writeInt32BE(damaged.length - 4);
  return damaged;
}

describe('hostile clients', () => {
  it(`${FRAMES} damaged frames: nobody else notices, and memory is bounded`, async () => {
    await using served = await Served.start({ helloTimeout: 1000 });
    const connections = (await recorded(served)).map(framesOf);
    expect(connections.length).toBeGreaterThanOrEqual(3);
    const random = new Random(SEED);
    const next = (): number => random.next();
    const before = process.memoryUsage().rss;
    for (let sent = 0; sent < FRAMES; sent += AT_ONCE) {
      const { greeting, requests } = connections[Math.floor(next() * connections.length)]!;
      const client = await RawClient.open(served.endpoint);
      client.send(next() < 0.05 ? mutate(Uint8Array.from(greeting), next) : greeting);
      for (let i = 0; i < AT_ONCE; i++) {
        client.send(damagedRequest(requests[Math.floor(next() * requests.length)]!, next));
      }
      client.socket.end();
      await client.closed;
    }
    const engine = await served.connect();
    await engine.admin.createTable(tableDescriptor('after', { f: {} }));
    await engine.table('after').put(new Put('r').addColumn('f', 'q', 'v'));
    expect((await engine.table('after').get(new Get('r'))).isEmpty).toBe(false);
    const grown = process.memoryUsage().rss - before;
    expect(grown).toBeLessThan(300 << 20);
    const { calls, totalCalls } = served.server.stats();
    expect(calls).toBe(0);
    // Many are whole enough to be calls; the others ended their connections.
    expect(totalCalls).toBeGreaterThan(FRAMES / 10);
    record('served-hostile', {
      'damaged frames': FRAMES,
      'of them whole calls': totalCalls,
      'MB more memory at the end': Math.max(0, Math.round(grown / 1e6)),
    });
  });

  it.each([
    ['another protocol', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['zeroes', '\0'.repeat(100)],
    ['a header that is too long', 'HBas\0P\x7f\xff\xff\xff'],
    ['a negative length', 'HBas\0P\xff\xff\xff\xff'],
    ['a header that is none', 'HBas\0P\0\0\0\x04\xff\xff\xff\xff'],
    ['another version', 'HBas\x01P\0\0\0\0'],
    ['another authentication', 'HBas\0Q\0\0\0\0'],
  ])('%s is the end of the connection', async (_, text) => {
    await using served = await Served.start({ helloTimeout: 300 });
    const client = await RawClient.open(served.endpoint);
    client.send(Buffer.from(text, 'latin1'));
    await client.closed;
    expect(served.server.stats().totalCalls).toBe(0);
  });

  it('whoever says nothing is not waited for', async () => {
    await using served = await Served.start({ helloTimeout: 50 });
    const client = await RawClient.open(served.endpoint);
    await client.closed;
  });
});
