import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Engine, Get, Increment, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';

/** Between the engine and the emulator: it passes bytes on, and can cut every connection. */
let proxy: Server;
let engine: Engine;
const sockets = new Set<Socket>();

function cut(): void {
  for (const socket of sockets) socket.destroy();
}

beforeAll(async () => {
  const [host, port] = inject('bigtable').split(':');
  proxy = createServer((near) => {
    const far = dial(Number(port), host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address() as { readonly port: number };
  engine = await connectShared({ emulatorHost: `127.0.0.1:${address.port}` });
  await engine.admin.createTable(tableDescriptor('cut', { f: {} }));
});
afterAll(async () => {
  await engine?.close();
  cut();
  await new Promise((resolve) => proxy.close(resolve));
});

it('a scan whose stream is cut again and again gives every row once, in order, in both directions', async () => {
  const table = engine.table('cut');
  const rows = Array.from({ length: 3000 }, (_, i) => `r${String(i).padStart(5, '0')}`);
  await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', Buffer.alloc(2000, 1))));
  for (const reversed of [false, true]) {
    const seen: string[] = [];
    for await (const { row } of table.scan(new Scan().setReversed(reversed))) {
      seen.push(Buffer.from(row).toString());
      if (seen.length % 700 === 0) cut();
    }
    expect(seen).toEqual(reversed ? [...rows].reverse() : rows);
  }
});

it('puts and gets behind a cut are made; an increment is made once, or nobody knows', async () => {
  const table = engine.table('cut');
  let known = 0;
  let doubtful = 0;
  for (let i = 0; i < 20; i++) {
    const answer = table.increment(new Increment('n').addColumn('f', 'n', 1));
    if (i % 4 === 0) cut();
    await answer.then(
      () => known++,
      (error: { details: { outcome?: string } }) => {
        expect(error.details.outcome).toBe('unknown');
        doubtful++;
      },
    );
    await table.put(new Put('p').addColumn('f', 'q', `${i}`));
    if (i % 5 === 0) cut();
    expect(Buffer.from((await table.get(new Get('p'))).getValue('f', 'q')!).toString()).toBe(`${i}`);
  }
  const value = Number(Buffer.from((await table.get(new Get('n'))).getValue('f', 'n')!).readBigInt64BE());
  expect(value).toBeGreaterThanOrEqual(known);
  expect(value).toBeLessThanOrEqual(known + doubtful);
});
