import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import {
  type Engine,
  Get,
  Increment,
  Put,
  type RegionInfo,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import { connectShared, sharedHBase } from '../connect.js';
import { PATIENCE } from '../patience.js';
import { dropTable, uniqueTable } from '../tables.js';
import { ProxyNet } from './proxy-net.js';
import { RegionMover } from './region-moves.js';
import { FAMILY, Traffic } from './traffic.js';

const mover = new RegionMover(sharedHBase().masters[0] ?? '');
let engine: Engine;

beforeAll(async () => {
  engine = await connectShared();
});
afterEach(() => Traffic.endAll());
afterAll(() => engine.close());

async function withTable(purpose: string, test: (name: string) => Promise<void>): Promise<void> {
  const name = uniqueTable(purpose);
  await engine.admin.createTable(tableDescriptor(name, { [FAMILY]: {} }), [Buffer.from('80')]);
  try {
    await test(name);
  } finally {
    await Traffic.endAll();
    await dropTable(engine, name);
  }
}

/** Read by an engine of its own, which knows nothing of where regions were before. */
async function stopped(traffic: Traffic, name: string) {
  const fresh = await connectShared();
  try {
    return await traffic.stop(fresh.table(name));
  } finally {
    await fresh.close();
  }
}

describe('an increment whose answer was lost', () => {
  it('is counted once, and its outcome is unknown, when its region has moved', async () => {
    await withTable('lost', async (name) => {
      const net = new ProxyNet();
      let reconnects = Promise.resolve();
      const resolveAddress: ProxyNet['resolveAddress'] = async (host, port) => {
        await reconnects;
        return net.resolveAddress(host, port);
      };
      const cut = await connectShared({ resolveAddress });
      const add = () => cut.table(name).increment(new Increment('r').addColumn(FAMILY, 'n', 1));
      const count = async (): Promise<number> => {
        const value = (await engine.table(name).get(new Get('r'))).getValue(FAMILY, 'n');
        return Number(Buffer.from(value!).readBigInt64BE());
      };
      await add();
      let reconnect = (): void => undefined;
      reconnects = new Promise((resolve) => {
        reconnect = resolve;
      });
      net.cutAfter('response', 0);
      const outcome = add().catch((reason: unknown) => reason);
      await expect.poll(count, PATIENCE).toBe(2);
      const [, region] = await engine.admin.getRegions(name);
      await mover.move(region!);
      reconnect();
      expect(await outcome).toMatchObject({ retryable: false, details: { outcome: 'unknown' } });
      expect(await count()).toBe(2);
      await cut.close();
      await net.close();
    });
  });
});

describe('with traffic running', () => {
  it('splits, moves and merges regions without losing or doubling a write', async () => {
    await withTable('regions', async (name) => {
      const traffic = new Traffic(engine.table(name)).start();
      await traffic.flows();
      for (const key of ['40', 'c0', '20']) {
        await engine.admin.split(name, Buffer.from(key));
        await traffic.flows();
      }
      expect(await starts(name)).toEqual(['', '20', '40', '80', 'c0']);
      const before = await engine.admin.getRegions(name);
      for (const region of before) {
        await mover.move(region);
        await traffic.flows(100);
      }
      const servers = (regions: readonly RegionInfo[]) => regions.map((region) => region.server);
      expect(servers(await engine.admin.getRegions(name))).not.toEqual(servers(before));
      // A merged region cannot be merged again for some minutes, so it is two pairs.
      for (const first of ['', '40']) {
        await mergeWithNext(name, first);
        await traffic.flows();
      }
      expect(await starts(name)).toEqual(['', '40', 'c0']);
      const report = await stopped(traffic, name);
      expect(report.violations).toEqual([]);
      expect(report.failures).toEqual({});
      expect(report.acknowledged).toBeGreaterThan(1500);
    });
  });

  it('fails fast with a typed error while the table is disabled, and goes on when it is enabled again', async () => {
    await withTable('disabled', async (name) => {
      const traffic = new Traffic(engine.table(name)).start();
      await traffic.flows();
      await engine.admin.disableTable(name);
      const error = await engine
        .table(name)
        .get(new Get('r'))
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      expect(error).toBeInstanceOf(RowanError);
      expect(error).toMatchObject({ code: 'ERR_TABLE_DISABLED', retryable: false });
      await engine.admin.enableTable(name);
      await traffic.flows();
      const report = await stopped(traffic, name);
      expect(report.violations).toEqual([]);
      expect(Object.keys(report.failures)).toEqual(['ERR_TABLE_DISABLED']);
    });
  });

  it('finds out that a table is disabled, and emptied, whose region came back to a server and left it again', async () => {
    await withTable('returned', async (name) => {
      const table = engine.table(name);
      const servers = new Set<string>();
      for (;;) {
        const [region] = await engine.admin.getRegions(name);
        if (servers.has(region!.server!)) break;
        servers.add(region!.server!);
        await mover.move(region!);
      }
      await table.put(new Put('0').addColumn(FAMILY, 'v', '1'));
      // By another program: this one's cache is not told.
      const other = await connectShared();
      await other.admin.disableTable(name);
      // Of the servers that had the region, each names another one now.
      await expect(table.get(new Get('0'))).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
      await expect(table.scan(new Scan()).next()).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
      await other.admin.enableTable(name);
      await table.get(new Get('0'));
      await other.admin.disableTable(name);
      await other.admin.truncateTable(name, true);
      await other.close();
      expect((await table.get(new Get('0'))).isEmpty).toBe(true);
    });
  });

  it('says that a dropped table is not there, and finds one created anew under the name', async () => {
    await withTable('dropped', async (name) => {
      const table = engine.table(name);
      await table.put(new Put('r').addColumn(FAMILY, 'v', '1'));
      await dropTable(engine, name);
      await expect(table.get(new Get('r'))).rejects.toMatchObject({
        code: 'ERR_TABLE_NOT_FOUND',
        retryable: false,
      });
      await engine.admin.createTable(tableDescriptor(name, { [FAMILY]: {} }));
      expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    });
  });

  /** Daughters refer to their parent's files, and cannot be merged before those are compacted away. */
  async function mergeWithNext(name: string, start: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      await engine.admin.majorCompact(name);
      try {
        const at = (await starts(name)).indexOf(start);
        await mover.merge((await engine.admin.getRegions(name)).slice(at, at + 2));
        return;
      } catch (error) {
        if (attempt === 20 || !String(error).includes('MergeRegionException')) throw error;
        await delay(500);
      }
    }
  }

  async function starts(name: string): Promise<string[]> {
    return (await engine.admin.getRegions(name)).map((region) => Buffer.from(region.startKey).toString());
  }
});
