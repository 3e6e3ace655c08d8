/** A region that no server has: what is asked of it ends in its time, and says which region and why. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Engine, Get, Put, type RegionInfo, Scan, tableDescriptor } from '../../src/table/index.js';
import { RegionMover } from './chaos/region-moves.js';
import { connectShared, sharedHBase } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

const TIME = 1500;

const mover = new RegionMover(sharedHBase().masters[0]!);
const name = uniqueTable('unassigned');
let engine: Engine;
let region: RegionInfo;

beforeAll(async () => {
  engine = await connectShared({ operationTimeout: TIME, adminTimeout: TIME, pause: 20 });
  const direct = await connectShared();
  await direct.admin.createTable(tableDescriptor(name, { d: {} }), [Buffer.from('m')]);
  await direct.table(name).put(new Put('n').addColumn('d', 'q', 'v'));
  await direct.close();
  [, region] = (await engine.admin.getRegions(name)) as [RegionInfo, RegionInfo];
  await mover.unassign(region);
});
afterAll(async () => {
  await mover.assign(region);
  await engine.close();
  const direct = await connectShared();
  await dropTable(direct, name);
  await direct.close();
});

const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  get: () => engine.table(name).get(new Get('n')),
  put: () => engine.table(name).put(new Put('n').addColumn('d', 'q', 'v')),
  scan: () => engine.table(name).scan(new Scan().withStartRow('n')).next(),
  flush: () => engine.admin.flush(name),
};

it.each(Object.keys(CALLS))('a %s', async (call) => {
  const error = await CALLS[call]!().then(
    () => expect.unreachable(),
    (reason: unknown) => reason as Error & { code: string },
  );
  expect(error).toMatchObject({ retryable: true });
  expect(error.message).toMatch(new RegExp(`^The ${call} (?:on|of) table ${name} .*Last error: `));
  // A flush goes to the server that had the region, as meta has it.
  const why = call === 'flush' ? 'not online' : 'on no server at the moment (CLOSED)';
  expect(error.message).toContain(why);
  expect(error.message).toContain(region.name);
});
