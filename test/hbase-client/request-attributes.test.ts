/** What goes with requests: what a call says of itself, and what the program says of all. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { CheckAndMutate, Get, Increment, Put, RowMutations, Scan } from '../../src/table/index.js';
import { FakePeer, type Request } from './fake-peer.js';

let peer: FakePeer;
let engine: HBaseEngine | undefined;
beforeEach(async () => {
  peer = await FakePeer.start();
});
afterEach(async () => {
  await engine?.close();
  engine = undefined;
  await peer.stop();
});

async function open(options: HBaseOptions = {}): Promise<HBaseEngine> {
  engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, ...options });
  await engine.table('t').get(new Get('warm'));
  peer.requests.length = 0;
  return engine;
}

/** The methods and attributes of what came, but for looks into meta. */
function came(): [string, Record<string, string>][] {
  return peer.requests
    .filter(({ param }) => !Buffer.from(param).includes('hbase:meta'))
    .map(({ method, attributes }: Request) => [method, attributes]);
}

const put = (row: string): Put => new Put(row).addColumn('f', 'q', 'v');

it('stands in every request of a call', async () => {
  const table = (await open()).table('t');
  await table.get(new Get('r'), { attributes: { id: 'get', of: 'ünï' } });
  await table.getAll([new Get('a'), new Get('b')], { attributes: { id: 'getAll' } });
  await table.put(put('r'), { attributes: { id: 'put' } });
  await table.increment(new Increment('r').addColumn('f', 'q', 1), { attributes: { id: 'increment' } });
  await table.mutateRow(new RowMutations('r').add(put('r')), { attributes: { id: 'row' } });
  await table.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), put('r')), {
    attributes: { id: 'check' },
  });
  await table.batch([new Get('a'), put('b')], { attributes: { id: 'batch' } });
  for await (const _ of table.scan(new Scan(), { attributes: { id: 'scan' } }));
  await table.get(new Get('r'), { attributes: {} });
  expect(came()).toEqual([
    ['Get', { id: 'get', of: 'ünï' }],
    ['Multi', { id: 'getAll' }],
    ['Mutate', { id: 'put' }],
    ['Mutate', { id: 'increment' }],
    ['Multi', { id: 'row' }],
    ['Mutate', { id: 'check' }],
    ['Multi', { id: 'batch' }],
    ['Scan', { id: 'scan' }],
    ['Get', {}],
  ]);
});

it('keeps apart what leaves in one turn, and only that', async () => {
  const table = (await open()).table('t');
  const get = (row: string, id?: string): Promise<unknown> =>
    table.get(new Get(row), id === undefined ? {} : { attributes: { id } });
  await Promise.all([get('a', 'x'), get('b', 'x'), get('c', 'y'), get('d'), get('e'), get('f', 'x')]);
  expect(came()).toEqual([
    ['Multi', { id: 'x' }],
    ['Get', { id: 'y' }],
    ['Multi', {}],
    ['Get', { id: 'x' }],
  ]);
});

it('goes again with each attempt', async () => {
  let failed = false;
  peer.handler = ({ method, id, connection, param }) => {
    if (failed || method !== 'Get' || Buffer.from(param).includes('hbase:meta')) return false;
    failed = true;
    connection.fail(id, 'org.apache.hadoop.hbase.RegionTooBusyException');
    return true;
  };
  failed = true;
  const table = (await open()).table('t');
  failed = false;
  await table.get(new Get('r'), { attributes: { id: 'again' } });
  expect(came()).toEqual([
    ['Get', { id: 'again' }],
    ['Get', { id: 'again' }],
  ]);
});

it('is asked of the program in the context of each call; what a call says itself goes before', async () => {
  const trace = new AsyncLocalStorage<string>();
  const db = await open({
    requestAttributes: () => {
      const id = trace.getStore();
      return id === undefined ? undefined : { trace: id, id: 'common' };
    },
  });
  const table = db.table('t');
  await Promise.all([
    trace.run('one', () => table.get(new Get('a'))),
    trace.run('two', () => table.get(new Get('b'), { attributes: { id: 'own' } })),
    table.get(new Get('c')),
  ]);
  expect(came()).toEqual([
    ['Get', { trace: 'one', id: 'common' }],
    ['Get', { trace: 'two', id: 'own' }],
    ['Get', {}],
  ]);
});

it('is refused when it is nothing that can go with a request, and nothing is sent', async () => {
  const table = (await open()).table('t');
  for (const attributes of ['id', { id: 7 }, [], { id: null }, { id: 'x'.repeat(20_000) }]) {
    const options = { attributes } as never;
    const refused = { code: 'ERR_INVALID_ARGUMENT' };
    await expect(table.get(new Get('r'), options)).rejects.toMatchObject(refused);
    await expect(table.putAll([put('r')], options)).rejects.toMatchObject(refused);
    await expect(table.get(new Get('r').setConsistency('TIMELINE'), options)).rejects.toMatchObject(refused);
    expect(() => table.scan(new Scan(), options)).toThrow(expect.objectContaining(refused));
  }
  expect(came()).toEqual([]);
  const wrong = connectHBase({ masters: [peer.address], requestAttributes: { id: 'x' } } as never);
  await expect(wrong).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});

it('fails the call alone when the program throws', async () => {
  let broken = false;
  const db = await open({
    requestAttributes: () => {
      if (broken) throw new Error('no context');
      return undefined;
    },
  });
  broken = true;
  await expect(db.table('t').get(new Get('r'))).rejects.toThrow('no context');
  await expect(db.table('t').putAll([put('r')])).rejects.toThrow('no context');
  broken = false;
  await db.table('t').get(new Get('r'));
  expect(came()).toEqual([['Get', {}]]);
});
