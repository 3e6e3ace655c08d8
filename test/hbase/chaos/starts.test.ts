/** A fleet of programs that start over and over, as under a supervisor, while the server of `hbase:meta` is dead. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../../src/database.js';
import { connectHBase } from '../../../src/hbase/engine.js';
import { Column, Entity, Index, int32, part, RowKey, Table, text } from '../../../src/index.js';
import { Get } from '../../../src/table/index.js';
import { PATIENCE } from '../patience.js';
import { type HBaseServer, startHBase } from '../server/hbase-server.js';

@Table({ name: 'starts_plain', families: { d: {} } })
class Plains {}

/** Its table of entries is asked for too, and is not there. */
@Entity({ table: Plains })
@RowKey(part('id'))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', int32) n!: number;
}

@Table({ name: 'starts_indexed', families: { d: {} } })
class Indexeds {}

@Entity({ table: Indexeds })
@RowKey(part('id'))
@Index('byName', [part('name')])
class Indexed {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byName: ['name'] };
  id!: string;
  @Column('d:m', text) name!: string;
}

const entities = [Plain, Indexed];

/** Programs that start again as soon as they have started, or could not. */
const FLEET = 20;
/** Milliseconds that the cluster may need in any case, however soon it is whole when nobody starts. */
const LEAST_PATIENCE = 30_000;

let cluster: HBaseServer;

beforeAll(async () => {
  cluster = await startHBase({
    separateProcesses: true,
    regionServers: 3,
    handlers: 20,
    sessionTimeout: 10_000,
    // As HBase has it; the other suites do with fewer.
    settings: { 'hbase.regionserver.metahandler.count': '20' },
  });
});
afterAll(() => cluster?.stop());

/** Kills the server of meta; answers the milliseconds until a client that has seen nothing of it reads meta again. */
async function untilMetaIsBack(): Promise<number> {
  const watcher = await connectHBase({ masters: cluster.masters });
  const [held] = await watcher.admin.getMetaLocations();
  await watcher.close();
  const n = cluster.regionServerAt(held!);
  await cluster.regionServer(n).kill();
  const killed = performance.now();
  const isBack = async (): Promise<boolean> => {
    const fresh = await connectHBase({ masters: cluster.masters, operationTimeout: 2000 });
    try {
      await fresh.table('starts_plain').get(new Get('r'));
      return true;
    } catch {
      return false;
    } finally {
      await fresh.close();
    }
  };
  await expect.poll(isBack, PATIENCE).toBe(true);
  const took = performance.now() - killed;
  cluster.startRegionServer(n);
  return took;
}

/** Waits until the server that was started again has taken its place. */
async function wholeAgain(): Promise<void> {
  await cluster.waitUntilReady();
  const watcher = await connectHBase({ masters: cluster.masters });
  await expect.poll(async () => (await watcher.admin.getServers()).length, PATIENCE).toBe(3);
  await watcher.close();
}

it('recovers beside a fleet that starts meanwhile as it does without', async () => {
  const first = await connect({ masters: cluster.masters, entities, tables: 'create' });
  await first.repository(Indexed).put({ id: 'a', name: 'b' });
  await first.close();
  const alone = await untilMetaIsBack();
  await wholeAgain();

  let stopping = false;
  let started = 0;
  const fleet = Array.from({ length: FLEET }, async () => {
    while (!stopping) {
      try {
        const program = await connect({ masters: cluster.masters, entities });
        started++;
        await program.close();
      } catch {
        // It starts again.
      }
      await delay(0);
    }
  });
  await expect.poll(() => started, PATIENCE).toBeGreaterThan(2 * FLEET);
  const beside = await untilMetaIsBack();
  const before = started;
  await expect.poll(() => started - before, PATIENCE).toBeGreaterThan(2 * FLEET);
  stopping = true;
  await Promise.all(fleet);
  console.info(
    `Meta was back after ${Math.round(alone)} ms, beside the fleet after ${Math.round(beside)} ms.`,
  );
  expect(beside).toBeLessThan(Math.max(LEAST_PATIENCE, 3 * alone));
});
