/** Clients of a server that are killed while their transactions are open. */

import { expect, test } from 'vitest';
import { connect } from '../../src/database.js';
import { runScript } from '../crash/run-script.js';
import { fromMiddle } from '../proof/scale.js';
import { ACCOUNTS, Account, accounts, START } from './accounts.js';
import { Served } from './served.js';

const ROUNDS = fromMiddle(5, 50);

test('clients that are killed in the middle of a transaction have moved all or nothing of it', async () => {
  await using served = await Served.start();
  const db = await connect({
    masters: [served.endpoint],
    user: 'test',
    pause: 10,
    entities: [Account],
    tables: 'create',
  });
  await db.repository(Account).putMany(accounts());
  const path = 'test/server/moving-money.ts';
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const processes = [1, 2, 3].map((seed) => runScript(path, [served.endpoint, String(seed + round * 3)]));
    await Promise.all(processes.map((process) => process.count(3)));
    for (const process of processes) process.kill();
    await Promise.all(processes.map(({ exit }) => exit));
    await expect.poll(() => served.server.stats().transactions).toBe(0);
    acknowledged += processes.reduce((sum, { lines }) => sum + lines.length, 0);
    const rows = await db.repository(Account).find({}, { fullScan: true }).all();
    expect(rows.reduce((sum, { balance }) => sum + balance, 0)).toBe(ACCOUNTS * START);
    const moves = rows.reduce((sum, { moves }) => sum + moves, 0) / 2;
    // Each process has at most one commit whose answer it did not read.
    expect(moves).toBeGreaterThanOrEqual(acknowledged);
    expect(moves).toBeLessThanOrEqual(acknowledged + 3 * (round + 1));
  }
  for (const index of ['byOwner', 'byBalance'] as const)
    expect(await db.index(Account, index).verify()).toMatchObject({ missing: 0, extra: 0, stale: 0 });
  await db.close();
});
