/** No scan leaves a scanner open on a real server, however it ends. */

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RowanError } from '../../src/errors.js';
import { RegionScanner } from '../../src/hbase/client/open-scanners.js';
import { ScanCall } from '../../src/hbase/client/scan-call.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { Observer } from '../../src/hbase/observe/observer.js';
import { resolveSettings } from '../../src/hbase/options.js';
import type { Region } from '../../src/hbase/region/region.js';
import { ConnectionPool } from '../../src/hbase/rpc/connection-pool.js';
import { RemoteError } from '../../src/hbase/rpc/errors.js';
import { Put, Scan, type Table, tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { PATIENCE } from './patience.js';
import { dropTable, uniqueTable } from './tables.js';

const SCANS = 1000;
const ABORTED = 800;
/** As many at once as the server of the tests has room for. */
const FEW = 8;
const AT_ONCE = 50;
const ROWS = 300;

let engine: HBaseEngine;
/** The errors for which scans were retried. */
const retries: RowanError[] = [];
let table: Table;
/** Every scanner that a server opened, and where. */
const opened = new Map<bigint, Region>();
const open = RegionScanner.prototype.open;

beforeAll(async () => {
  engine = (await connectShared({
    onEvent: (event) => event.kind === 'retry' && retries.push(event.error),
  })) as HBaseEngine;
  const name = uniqueTable('scanners');
  await engine.admin.createTable(tableDescriptor(name, { f: {} }), [
    Buffer.from('r100'),
    Buffer.from('r200'),
  ]);
  table = engine.table(name);
  const rows = Array.from({ length: ROWS }, (_, i) => `r${String(i).padStart(3, '0')}`);
  await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', row)));
  RegionScanner.prototype.open = async function (...args) {
    const answer = await open.apply(this, args);
    const isOurs = this.region.table === table.name;
    if (answer.scannerId !== undefined && isOurs) opened.set(answer.scannerId, this.region);
    return answer;
  };
});
afterAll(async () => {
  RegionScanner.prototype.open = open;
  await dropTable(engine, table.name);
  await engine.close();
});

/** Ends scan number `i` in one of five ways, none of them by reading it to its end. */
async function leave(i: number): Promise<void> {
  const aborter = new AbortController();
  const scan = new Scan().setCaching(3);
  const options = { signal: aborter.signal, timeout: i % 5 === 4 ? 1 : 30_000 };
  const scanner = table.scan(scan, options);
  if (i % 5 === 0) {
    for await (const _ of scanner) break;
  } else if (i % 5 === 1) {
    await scanner.nextBatch(5);
    await scanner.close();
  } else if (i % 5 === 2) {
    const wait = scanner.nextBatch(20);
    setImmediate(() => aborter.abort());
    await wait.catch(() => undefined);
  } else if (i % 5 === 3) {
    // Forgotten.
    await scanner.next();
  } else {
    // Fails for want of time, at once or after some rows.
    await scanner.nextBatch(40).catch(() => undefined);
  }
}

/** In a function of its own, so that no variable of the test keeps what is to be forgotten. */
async function leaveAll(): Promise<void> {
  for (let from = 0; from < SCANS; from += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => leave(from + n)));
  }
}

it(`${ABORTED} scans that are aborted on a healthy server are not retried`, async () => {
  retries.length = 0;
  for (let i = 0; i < ABORTED; i += FEW) {
    const codes = await Promise.all(
      Array.from({ length: FEW }, async (_, n) => {
        const aborter = new AbortController();
        // One answer a region, so that many are aborted while a region answers its last.
        const reading = table.scan(new Scan(), { signal: aborter.signal }).nextBatch(ROWS + 1);
        const ended = reading.then(
          () => 'read',
          (error: unknown) => (error as RowanError).code,
        );
        for (let turn = 0; turn < i / FEW + n; turn++) await nextTurn();
        aborter.abort();
        return ended;
      }),
    );
    for (const code of codes) expect(['read', 'ERR_ABORTED']).toContain(code);
  }
  // Its queue may be full, on a busy machine: that is not the aborts' doing.
  expect(retries.filter(({ code }) => code !== 'ERR_BUSY')).toEqual([]);
});

/** No scanner comes to that many calls: an open one refuses, and says which it expects. */
const OUT_OF_ORDER = 1_000_000;

/** Whether the server still has the scanner. */
async function isOpen(pool: ConnectionPool, id: bigint, region: Region): Promise<boolean> {
  const step = {
    kind: 'renew',
    region,
    scannerId: id,
    nextCallSeq: OUT_OF_ORDER,
    numberOfRows: 0,
    limitOfRows: 0,
  } as const;
  const call = new ScanCall(new Scan(), step, 10_000, () => undefined);
  pool.get(region.address, 'ClientService').send(call);
  const error = await call.answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof RemoteError && error.remoteMessage.startsWith('Expected nextCallSeq: ');
}

it(`${SCANS} scans closed, aborted, failed, left and forgotten: no scanner is open one second after`, async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await leaveAll();
  // What is forgotten is known to be so when memory is collected.
  for (let turn = 0; turn < 10; turn++) {
    await delay(50);
    collect();
  }
  await delay(1000);
  const settings = resolveSettings({ masters: ['localhost:1'] });
  const pool = new ConnectionPool(settings, new Observer(settings), () => undefined);
  try {
    expect(opened.size).toBeGreaterThan(SCANS / 2);
    const left = async (): Promise<bigint[]> => {
      const ids: bigint[] = [];
      for (const [id, region] of opened) if (await isOpen(pool, id, region)) ids.push(id);
      return ids;
    };
    // Empty at the first look, where the machine is not busy with other things.
    await expect.poll(left, PATIENCE).toEqual([]);
    // The question tells an open one from one that is gone.
    const scanner = table.scan(new Scan().setCaching(3));
    opened.clear();
    await scanner.next();
    const [[id, region] = []] = opened;
    expect(await isOpen(pool, id!, region!)).toBe(true);
    await scanner.close();
  } finally {
    pool.close();
  }
});
