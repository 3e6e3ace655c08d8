import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../../src/database.js';
import type { HBaseAdmin } from '../../../src/hbase/admin/hbase-admin.js';
import { connectHBase, type HBaseEngine } from '../../../src/hbase/engine.js';
import { Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { GIVE_UP, PATIENCE } from '../patience.js';
import { type HBaseServer, startHBase } from '../server/hbase-server.js';
import { uniqueTable } from '../tables.js';
import { declareAccounts, EntityTraffic } from './entity-traffic.js';
import { RegionMover } from './region-moves.js';
import { FAMILY, Traffic } from './traffic.js';

const SESSION_TIMEOUT = 4000;
/** How long the master waits for a hung server to answer before it assigns that one's regions: 60 s if not told. */
const SERVERS_RPC_TIMEOUT = 10_000;
/** How long a server may take to end by itself that has learned that it was given up. HBase's own end waits for much. */
const ENDING = 20_000;

let cluster: HBaseServer;
let engine: HBaseEngine;
/** Of one test: none inherits the rows, or the locks, of another. */
let table: string;

beforeAll(async () => {
  cluster = await startHBase({
    separateProcesses: true,
    regionServers: 3,
    masters: 2,
    sessionTimeout: SESSION_TIMEOUT,
    settings: { 'hbase.rpc.timeout': String(SERVERS_RPC_TIMEOUT) },
  });
});
afterAll(() => cluster?.stop());

// A machine that stood still for longer than a session, or a case that failed, has cost servers: the next begins whole.
beforeEach(async () => {
  engine = await wholeCluster();
  table = uniqueTable('chaos');
  const splits = ['2a', '55', '80', 'aa', 'd5'].map((key) => Buffer.from(key));
  await engine.admin.createTable(tableDescriptor(table, { [FAMILY]: {} }), splits);
  await recovered();
});
afterEach(async () => {
  await Traffic.endAll();
  for (const n of [0, 1, 2]) if (cluster.regionServer(n).running) cluster.regionServer(n).resume();
  await engine?.close();
});

function startEnded(): void {
  for (const n of [0, 1]) if (!cluster.master(n).running) cluster.startMaster(n);
  startEndedRegionServers();
}

/** Whether there were any. */
function startEndedRegionServers(): boolean {
  const ended = [0, 1, 2].filter((n) => !cluster.regionServer(n).running);
  for (const n of ended) cluster.startRegionServer(n);
  return ended.length > 0;
}

/**
 * An engine of a cluster that has an active master, one that stands by, and all its region servers. Who lost his session in
 * the case before may take a while to notice and end, so what has ended is started until all are there.
 */
async function wholeCluster(): Promise<HBaseEngine> {
  const until = Date.now() + GIVE_UP;
  for (;;) {
    startEnded();
    let connected: HBaseEngine | undefined;
    let state: unknown;
    try {
      await cluster.waitUntilReady();
      connected = await connectHBase({ masters: cluster.masters });
      const status = await connected.admin.getStatus();
      if (status.master !== '' && status.backupMasters.length === 1 && status.servers.length === 3)
        return connected;
      state = status;
    } catch (error) {
      state = error;
    }
    await connected?.close();
    if (Date.now() > until)
      throw new Error(`The cluster is not whole after ${GIVE_UP} ms.`, { cause: state });
    await delay(200);
  }
}

/** Read by an engine that has seen nothing of the trouble. */
async function stopped(traffic: Traffic) {
  const fresh = await connectHBase({ masters: cluster.masters });
  try {
    return await traffic.stop(fresh.table(table));
  } finally {
    await fresh.close();
  }
}

/** Waits until every region is on a server that runs, and none on server `without`. */
async function recovered(without = -1): Promise<void> {
  const until = Date.now() + GIVE_UP;
  for (;;) {
    const regions = await engine.admin.getRegions(table).catch(() => []);
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

/** Waits until the server that was given up has ended, and ends it when it hangs in its own end. */
async function ended(n: number): Promise<void> {
  const server = cluster.regionServer(n);
  await Promise.race([server.exited, delay(ENDING, undefined, { ref: false })]);
  if (server.running) await server.kill();
}

describe('a cluster of separate processes, with traffic running', () => {
  it('loses no acknowledged write when each region server in turn is killed (kill -9) and restarted', async () => {
    const traffic = new Traffic(engine.table(table), { writers: 10, batchWriters: 3 }).start();
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

  it('keeps what writers of entities were told, and what follows the rows, while regions move and region servers are killed', async () => {
    const declared = declareAccounts();
    const given = {
      masters: cluster.masters,
      entities: [declared.Account, declared.Tally],
      tables: 'create',
    } as const;
    const db = await connect(given);
    const all = (await engine.admin.listTables()).map(({ name }) => name);
    const traffic = new EntityTraffic(db, declared);
    const flows = async (calls: number): Promise<void> => {
      const goal = traffic.progress + calls;
      await expect.poll(() => traffic.progress, PATIENCE).toBeGreaterThan(goal);
    };
    const moved = all.filter((name) => declared.tables.some((one) => name.startsWith(one)));
    let endMoves: (() => Promise<number>) | undefined;
    try {
      await traffic.start();
      await flows(100);
      endMoves = new RegionMover(await engine.admin.getMaster()).keepMoving(engine.admin, moved);
      for (const n of scaled([1], [0, 1, 2], [0, 1, 2, 2, 1, 0, 1, 0, 2])) {
        await cluster.regionServer(n).kill();
        await flows(200);
        cluster.startRegionServer(n);
        await flows(200);
      }
      expect(await endMoves()).toBeGreaterThan(0);
    } finally {
      await endMoves?.();
      await traffic.stop();
      await db.close();
    }
    const fresh = await connect(given);
    await traffic.expectKept(fresh);
    await fresh.close();
    console.log(`entities: ${traffic.progress} calls, failures ${JSON.stringify(traffic.failures)}`);
    for (const code of Object.keys(traffic.failures))
      expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT|CONFLICT)/);
  });

  it('goes on when a region server hangs and comes back before its session ends', async () => {
    const hasty = new Traffic(engine.table(table), { timeout: 700 }).start();
    await hasty.flows();
    // Of servers that were started anew, some have no region.
    const [region] = await engine.admin.getRegions(table);
    const server = cluster.regionServer(cluster.regionServerAt(region!.server));
    server.pause();
    await hasty.fails(/^ERR_TIMEOUT/);
    server.resume();
    await hasty.flows(300);
    const report = await stopped(hasty);
    expect(report.violations).toEqual([]);
    // On a machine that stood still its session may have ended all the same, and it with it.
    const codes = server.running ? /^ERR_TIMEOUT/ : /^ERR_(TIMEOUT|CONNECTION)/;
    for (const code of Object.keys(report.failures)) expect(code).toMatch(codes);
  });

  // A server that wakes acknowledges what it is still sent until it learns that it was given up; only HDFS takes its log
  // away from it before, and on a local folder those writes are lost. So it wakes when no call is under way to it.
  it('sends nothing more to a server that was given up, and takes no word of it when it wakes', async () => {
    const rpcTimeout = 1000;
    const hasty = await connectHBase({ masters: cluster.masters, rpcTimeout });
    const traffic = new Traffic(hasty.table(table)).start();
    await traffic.flows();
    // Not the one with meta, for the same reason.
    const n = cluster.regionServerAt(await metaServer(engine)) === 2 ? 1 : 2;
    const server = cluster.regionServer(n);
    server.pause();
    await recovered(n);
    await delay(2 * rpcTimeout);
    await traffic.flows();
    server.resume();
    await traffic.flows(400);
    await ended(n);
    cluster.startRegionServer(n);
    await traffic.flows(200);
    const report = await stopped(traffic);
    await hasty.close();
    expect(report.violations).toEqual([]);
    // As for a server that is killed.
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
  });

  it('finds regions within 5 s of meta being served again, when the server that hung with it is given up', async () => {
    // Short waits for the server that hangs with the region itself, and between attempts: what is measured is the lookup.
    const cold = await connectHBase({ masters: cluster.masters, rpcTimeout: 2000, pause: 5, retries: 1000 });
    const held = await metaServer(cold);
    const server = cluster.regionServer(cluster.regionServerAt(held));
    server.pause();
    try {
      // Begun while nobody serves meta.
      const lookup = cold.table(table).get(new Get('r'), { timeout: GIVE_UP });
      const warm = await connectHBase({ masters: cluster.masters });
      await expect.poll(() => metaServer(warm), { timeout: GIVE_UP, interval: 100 }).not.toBe(held);
      await expect
        .poll(() => warm.table(table).exists(new Get('r'), { timeout: 2000 }).catch(String), {
          timeout: GIVE_UP,
          interval: 100,
        })
        .toBe(false);
      const served = performance.now();
      await lookup;
      const took = performance.now() - served;
      expect(took).toBeLessThan(Math.max(5000, 20 * (await ofOneWhoComesNow())));
      await warm.close();
    } finally {
      // Were it to wake with meta, nothing would keep it from meta's files on a local folder, as HDFS does.
      await server.kill();
      await cold.close();
    }
  });

  it('goes on while ZooKeeper and the active master hang, and serves one who knows nothing yet within 5 s', async () => {
    const traffic = new Traffic(engine.table(table)).start();
    await traffic.flows();
    const active = cluster.masters.indexOf(await engine.admin.getMaster());
    const hung = [cluster.zooKeeperProcess, cluster.master(active)];
    const cold = await connectHBase({ masters: [...cluster.masters, ...cluster.regionServers] });
    const calm = await ofOneWhoComesNow();
    for (const server of hung) server.pause();
    const began = performance.now();
    try {
      // Shorter than a session, so that nobody is given up for it.
      await cold.table(table).get(new Get('1'));
      expect(performance.now() - began).toBeLessThan(Math.max(5000, 20 * calm));
      await traffic.flows(50);
    } finally {
      for (const server of hung) server.resume();
      await cold.close();
    }
    await traffic.flows(100);
    const report = await stopped(traffic);
    expect(report.violations).toEqual([]);
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
  });

  it('goes on while ZooKeeper is dead (kill -9), and with the one that takes its place', async () => {
    const traffic = new Traffic(engine.table(table)).start();
    await traffic.flows();
    await cluster.zooKeeperProcess.kill();
    try {
      await traffic.flows(100);
      // One who comes meanwhile, too.
      const cold = await connectHBase({ masters: cluster.masters });
      await cold.table(table).get(new Get('1'));
      await cold.close();
    } finally {
      await cluster.startZooKeeper();
    }
    await traffic.flows(100);
    const after = uniqueTable('after_zookeeper');
    await engine.admin.createTable(tableDescriptor(after, { f: {} }));
    await engine.table(after).put(new Put('r').addColumn('f', 'q', 'v'));
    const report = await stopped(traffic);
    expect(report.violations).toEqual([]);
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
    // Whose session ended with ZooKeeper learns of it, and ends, only when it could have gone on.
    await delay(2 * SESSION_TIMEOUT);
  });

  it('fails over to the second master: the data is served throughout, and tables can be made again', async () => {
    const traffic = new Traffic(engine.table(table)).start();
    await traffic.flows();
    const active = cluster.masters.indexOf(await engine.admin.getMaster());
    await cluster.master(active).kill();
    let isServedThroughout = true;
    // One that stood still for longer than its session ends, and the master that takes over waits for all region servers.
    const keeping = setInterval(() => {
      if (!cluster.master(1 - active).running) cluster.startMaster(1 - active);
      if (startEndedRegionServers()) isServedThroughout = false;
    }, 200);
    try {
      await traffic.flows(300);
      const serving = () => engine.admin.getMaster().catch(String);
      await expect.poll(serving, PATIENCE).toBe(cluster.masters[1 - active]);
      const after = uniqueTable('after_failover');
      await engine.admin.createTable(tableDescriptor(after, { [FAMILY]: {} }));
      const made = engine.table(after);
      await made.put(new Put('r').addColumn(FAMILY, 'v', '1'));
      expect((await made.get(new Get('r'))).isEmpty).toBe(false);
    } finally {
      clearInterval(keeping);
    }
    cluster.startMaster(active);
    await traffic.flows(100);
    const report = await stopped(traffic);
    expect(report.violations).toEqual([]);
    if (isServedThroughout) expect(report.failures).toEqual({});
    for (const code of Object.keys(report.failures)) expect(code).toMatch(/^ERR_(CONNECTION|TIMEOUT)/);
  });

  it('finds the cluster when the first of the addresses it was given is down', async () => {
    const other = await connectHBase({
      masters: ['localhost:1', ...cluster.masters, ...cluster.regionServers],
    });
    try {
      expect(await other.admin.tableExists(table)).toBe(true);
    } finally {
      await other.close();
    }
  });
});

/** Milliseconds until a new client has its first answer: by it a limit is stretched on a machine that is slow at the time. */
async function ofOneWhoComesNow(): Promise<number> {
  const began = performance.now();
  const fresh = await connectHBase({ masters: cluster.masters });
  await fresh.table(table).get(new Get('1'));
  await fresh.close();
  return performance.now() - began;
}

/** "host:port" of the server that has meta, as the registry says. */
async function metaServer(from: { readonly admin: HBaseAdmin }): Promise<string> {
  const [meta] = await from.admin.getMetaLocations();
  return meta ?? '';
}
