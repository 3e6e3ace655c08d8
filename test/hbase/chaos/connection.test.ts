import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HBaseOptions } from '../../../src/hbase/options.js';
import { type Engine, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { connectShared } from '../connect.js';
import { dropTable, uniqueTable } from '../tables.js';
import { type Direction, ProxyNet } from './proxy-net.js';
import { FAMILY, Traffic, type TrafficReport } from './traffic.js';

let direct: Engine;
let name: string;

beforeAll(async () => {
  direct = await connectShared();
});
afterAll(() => direct.close());

/** Traffic through proxies; read at the end past them. */
async function throughProxies(
  options: HBaseOptions,
  test: (net: ProxyNet, engine: Engine, traffic: Traffic) => Promise<void>,
): Promise<TrafficReport> {
  name = uniqueTable('cut');
  await direct.admin.createTable(tableDescriptor(name, { [FAMILY]: {} }), [
    Buffer.from('55'),
    Buffer.from('aa'),
  ]);
  const net = new ProxyNet();
  const engine = await connectShared({ resolveAddress: net.resolveAddress, ...options });
  try {
    const traffic = new Traffic(engine.table(name)).start();
    await traffic.flows();
    await test(net, engine, traffic);
    return await traffic.stop(direct.table(name));
  } finally {
    await Traffic.endAll();
    await engine.close();
    await net.close();
    await dropTable(direct, name);
  }
}

describe('connections', () => {
  it.each<Direction>(['request', 'response'])(
    'are cut in the middle of a %s, again and again: no write is lost, no increment doubled',
    async (direction) => {
      let cuts = 0;
      const report = await throughProxies({}, async (net, _engine, traffic) => {
        for (let round = 0; round < 25; round++) {
          net.cutAfter(direction, 1 + ((round * 37) % 150));
          await traffic.flows(60);
        }
        cuts = net.cuts;
      });
      expect(cuts).toBeGreaterThan(25);
      expect(report.violations).toEqual([]);
      // Everything but a checkAndMutate can be sent again: the server knows increments by their nonces.
      for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
    },
  );

  it('fall silent: calls end at their timeout with a retryable error, and go on when the silence ends', async () => {
    const report = await throughProxies(
      { rpcTimeout: 400, operationTimeout: 1500 },
      async (net, engine, traffic) => {
        net.hold();
        const error = await engine
          .table(name)
          .put(new Put('zz').addColumn('f', 'other', 'x'), { timeout: 300 })
          .then(
            () => undefined,
            (reason: unknown) => reason,
          );
        // At its own time, not at that of all operations.
        expect(error).toMatchObject({
          code: 'ERR_TIMEOUT',
          retryable: true,
          message: expect.stringContaining('within 300 ms'),
        });
        await traffic.fails(/^ERR_TIMEOUT \(retryable\)$/);
        await traffic.fails(/^ERR_TIMEOUT$/);
        net.release();
        await traffic.flows();
      },
    );
    expect(report.violations).toEqual([]);
    // A checkAndMutate whose answer is missing may have taken effect: making it again is for the caller to decide.
    expect(Object.keys(report.failures).sort()).toEqual(['ERR_TIMEOUT', 'ERR_TIMEOUT (retryable)']);
  });

  it('do not grow in number over many cuts', async () => {
    await throughProxies({}, async (net, engine, traffic) => {
      const before = net.open;
      for (let round = 0; round < 10; round++) {
        net.cutAfter('response', 10);
        await traffic.flows(30);
      }
      await engine.table(name).get(new Get('r'));
      // A server that had not been asked anything before may have been met on the way.
      expect(net.open).toBeLessThanOrEqual(before + 4);
    });
  });
});
