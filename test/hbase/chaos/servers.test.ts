import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase } from '../../../src/hbase/engine.js';
import { type Engine, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { type HBaseServer, startHBase } from '../server/hbase-server.js';
import { FAMILY, Traffic } from './traffic.js';

const TABLE = 'chaos';
const SESSION_TIMEOUT = 4000;

let cluster: HBaseServer;
let engine: Engine;

beforeAll(async () => {
  cluster = await startHBase({
    separateProcesses: true,
    regionServers: 3,
    masters: 2,
    sessionTimeout: SESSION_TIMEOUT,
  });
  engine = await connectHBase({ masters: cluster.masters });
  const splits = ['2a', '55', '80', 'aa', 'd5'].map((key) => Buffer.from(key));
  await engine.admin.createTable(tableDescriptor(TABLE, { [FAMILY]: {} }), splits);
});
afterAll(async () => {
  await engine?.close();
  await cluster?.stop();
});

// A machine that stood still for longer than a session, or a case that failed, has cost servers: the next begins whole.
beforeEach(async () => {
  for (const n of [0, 1]) if (!cluster.master(n).running) cluster.startMaster(n);
  for (const n of [0, 1, 2]) if (!cluster.regionServer(n).running) cluster.startRegionServer(n);
  await cluster.waitUntilReady();
  await recovered();
});

async function emptied(): Promise<void> {
  await engine.admin.disableTable(TABLE);
  await engine.admin.truncateTable(TABLE, true);
}

/** Read by an engine that has seen nothing of the trouble. */
async function stopped(traffic: Traffic) {
  const fresh = await connectHBase({ masters: cluster.masters });
  try {
    return await traffic.stop(fresh.table(TABLE));
  } finally {
    await fresh.close();
  }
}

/** Waits until every region is on a server that runs, and none on server `without`. */
async function recovered(without = -1): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    const regions = await engine.admin.getRegions(TABLE).catch(() => []);
    const down = regions.filter(({ server }) => {
      const n = cluster.regionServerAt(server);
      return n === -1 || n === without || !cluster.regionServer(n).running;
    });
    if (regions.length === 6 && down.length === 0) return;
    if (Date.now() > until)
      throw new Error(`Regions are still on servers that are down: ${JSON.stringify(regions)}`);
    await delay(200);
  }
}

describe('a cluster of separate processes, with traffic running', () => {
  it('loses no acknowledged write when each region server in turn is killed (kill -9) and restarted', async () => {
    const traffic = new Traffic(engine.table(TABLE), { writers: 10, batchWriters: 3 }).start();
    await traffic.flows();
    // One of them holds hbase:meta.
    for (const n of [0, 1, 2]) {
      await cluster.regionServer(n).kill();
      await traffic.flows(100);
      await recovered();
      cluster.startRegionServer(n);
      await traffic.flows(400);
    }
    const report = await stopped(traffic);
    expect(report.violations).toEqual([]);
    // A checkAndMutate whose answer was lost is the only call that is not sent again.
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
    expect(report.acknowledged).toBeGreaterThan(1500);
  });

  it('goes on when a region server hangs and comes back before its session ends', async () => {
    await emptied();
    const hasty = new Traffic(engine.table(TABLE), { timeout: 700 }).start();
    await hasty.flows();
    const server = cluster.regionServer(1);
    server.pause();
    await delay(2000);
    server.resume();
    await hasty.flows(300);
    const report = await stopped(hasty);
    expect(report.violations).toEqual([]);
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_TIMEOUT/);
    expect(Object.keys(report.failures)).toContain('ERR_TIMEOUT (retryable)');
  });

  // A server that wakes acknowledges what it is still sent until it learns that it was given up; only HDFS takes its log
  // away from it before, and on a local folder those writes are lost. So it wakes when no call is under way to it.
  it('sends nothing more to a server that was given up, and takes no word of it when it wakes', async () => {
    await emptied();
    const rpcTimeout = 1000;
    const hasty = await connectHBase({ masters: cluster.masters, rpcTimeout });
    const traffic = new Traffic(hasty.table(TABLE)).start();
    await traffic.flows();
    const server = cluster.regionServer(2);
    server.pause();
    await recovered(2);
    await delay(2 * rpcTimeout);
    await traffic.flows();
    server.resume();
    await traffic.flows(400);
    await server.exited;
    cluster.startRegionServer(2);
    await traffic.flows(200);
    const report = await stopped(traffic);
    await hasty.close();
    expect(report.violations).toEqual([]);
    // As for a server that is killed.
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
  });

  it('fails over to the second master: the data is served throughout, and tables can be made again', async () => {
    await emptied();
    const traffic = new Traffic(engine.table(TABLE)).start();
    await traffic.flows();
    await cluster.master(0).kill();
    await traffic.flows(300);
    await engine.admin.createTable(tableDescriptor('made_after_failover', { [FAMILY]: {} }));
    const table = engine.table('made_after_failover');
    await table.put(new Put('r').addColumn(FAMILY, 'v', '1'));
    expect((await table.get(new Get('r'))).isEmpty).toBe(false);
    cluster.startMaster(0);
    await traffic.flows(100);
    const report = await stopped(traffic);
    expect(report.violations).toEqual([]);
    expect(report.failures).toEqual({});
  });

  it('finds the cluster when the first of the addresses it was given is down', async () => {
    const other = await connectHBase({
      masters: ['localhost:1', ...cluster.masters, ...cluster.regionServers],
    });
    try {
      expect(await other.admin.tableExists(TABLE)).toBe(true);
    } finally {
      await other.close();
    }
  });
});
