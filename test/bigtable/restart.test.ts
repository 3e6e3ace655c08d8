/** An emulator that is killed and started again, and one that gives no answers: calls wait for it, or end in time. */

import { afterEach, describe, expect, it } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import type { BigtableOptions } from '../../src/bigtable/options.js';
import type { RowanError } from '../../src/errors.js';
import { type Engine, Get, Increment, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { freshInstance } from './connect.js';
import { Emulator } from './emulator/emulator.js';
import { CutProxy } from './proxy.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function started(): Promise<Emulator> {
  const emulator = await Emulator.start();
  closing.push(() => emulator.kill());
  return emulator;
}

async function connected(options: BigtableOptions): Promise<Engine> {
  const engine = await connectBigtableEngine(options);
  closing.push(() => engine.close());
  return engine;
}

/** An engine with a table, behind a proxy. */
async function behindProxy(options: Partial<BigtableOptions> = {}) {
  const emulator = await started();
  const proxy = await CutProxy.start(emulator.host);
  closing.push(() => proxy.close());
  const instance = freshInstance({ emulatorHost: proxy.host, ...options });
  const engine = await connected(instance);
  await engine.admin.createTable(descriptor);
  const table = engine.table('t');
  await table.put(put('before'));
  return { emulator, proxy, instance, engine, table };
}

const descriptor = tableDescriptor('t', { f: {} });
const put = (row: string): Put => new Put(row).addColumn('f', 'q', row);
const increment = (): Increment => new Increment('n').addColumn('f', 'n', 1);

const errorOf = (call: Promise<unknown>): Promise<RowanError> =>
  call.then(
    () => expect.fail('The call succeeded.'),
    (error: RowanError) => error,
  );

it('calls made while no emulator runs are executed once the next one does', async () => {
  const { emulator, proxy, instance, engine, table } = await behindProxy();
  await emulator.kill();
  proxy.target = undefined;
  const calls = Promise.all([
    table.put(put('a')),
    table.putAll([put('b'), put('c')]),
    table.get(new Get('before')),
    table.scan(new Scan()).nextBatch(10),
  ]);
  // What was stored is lost with the first emulator.
  const next = await started();
  const beside = await connected({ ...instance, emulatorHost: next.host });
  await beside.admin.createTable(descriptor);
  proxy.target = next.host;
  const [, , before] = await calls;
  expect(before.isEmpty).toBe(true);
  for (const row of ['a', 'b', 'c']) expect((await table.get(new Get(row))).isEmpty, row).toBe(false);
  const { cells } = await table.increment(increment());
  expect(Buffer.from(cells[0]!.value).readBigInt64BE()).toBe(1n);
  expect((await engine.admin.listTables()).map(({ name }) => name)).toContain('t');
});

describe('a service that gives no answer', () => {
  it('ends calls and scans at their time limit; an increment may have been made', async () => {
    const { proxy, table } = await behindProxy({ operationTimeout: 600, rpcTimeout: 200 });
    proxy.silent = true;
    const calls = {
      get: table.get(new Get('before')),
      getAll: table.getAll([new Get('before'), new Get('x')], { timeout: 300 }),
      put: table.put(put('a'), { timeout: 300 }),
      put1: table.put(put('b')),
      put2: table.put(put('c')),
      putAll: table.putAll([put('d'), put('e')]),
      scan: table.scan(new Scan()).next(),
    };
    const codes = await Promise.all(Object.values(calls).map(async (call) => (await errorOf(call)).code));
    expect(codes).toEqual(Object.keys(calls).map(() => 'ERR_TIMEOUT'));
    const counted = await errorOf(table.increment(increment()));
    expect([counted.code, counted.details['outcome']]).toEqual(['ERR_TIMEOUT', 'unknown']);
  });

  it('is asked again, within the time limit of the call', async () => {
    const { proxy, table } = await behindProxy({ rpcTimeout: 200 });
    proxy.silent = true;
    const calls = Promise.all([
      table.put(put('a')),
      table.put(put('b')),
      table.put(put('c'), { timeout: 60_000 }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    proxy.silent = false;
    // A connection from which bytes were lost is of no use.
    proxy.cut();
    await calls;
    for (const row of ['a', 'b', 'c']) expect((await table.get(new Get(row))).isEmpty, row).toBe(false);
  });
});
