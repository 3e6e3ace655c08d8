/** Quotas, on an HBase of its own that has them and counts often. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { PATIENCE } from './patience.js';
import { type HBaseServer, startHBase } from './server/hbase-server.js';

const OFTEN = Object.fromEntries(
  [
    'hbase.master.quotas.observer',
    'hbase.master.quotas.snapshot',
    'hbase.regionserver.quotas.policy.refresher',
    'hbase.regionserver.quotas.fs.utilization',
    'hbase.regionserver.quotas.region.size.reporting',
  ].flatMap((chore) => [
    [`${chore}.chore.period`, '200'],
    [`${chore}.chore.delay`, '200'],
  ]),
);

let server: HBaseServer;
let engine: HBaseEngine;
beforeAll(async () => {
  server = await startHBase({ name: 'quotas', settings: { 'hbase.quota.enabled': 'true', ...OFTEN } });
  engine = await connectHBase({ masters: server.masters });
});
afterAll(async () => {
  await engine?.close();
  await server?.stop();
});

it('of space are set, counted, enforced and taken away; all that are set are listed', async () => {
  const { admin } = engine;
  expect(await admin.listQuotas()).toEqual([]);
  await admin.createNamespace('ns');
  await admin.createTable(tableDescriptor('ns:t', { f: {} }));
  const table = engine.table('ns:t');
  const write = (): Promise<string> =>
    table.put(new Put('r').addColumn('f', 'q', 'v'.repeat(1000))).then(
      () => '',
      (error: Error) => error.message,
    );
  expect(await write()).toBe('');
  await admin.flush('ns:t');

  await admin.setSpaceQuota({ table: 'ns:t' }, { limit: 1, policy: 'NO_WRITES' });
  await admin.setSpaceQuota({ namespace: 'ns' }, { limit: 2 ** 40, policy: 'DISABLE' });
  await admin.setThrottle({ user: 'u', table: 'ns:t' }, { counts: 'READ_NUMBER', limit: 7, per: 'HOURS' });
  await admin.setThrottle({ user: 'u', namespace: 'ns' }, { counts: 'WRITE_SIZE', limit: 8, per: 'DAYS' });
  await admin.setThrottle({ user: 'u' }, { counts: 'REQUEST_NUMBER', limit: 9 });
  const quotas = await admin.listQuotas();
  expect(quotas).toHaveLength(5);
  expect(quotas).toEqual(
    expect.arrayContaining([
      { subject: { table: 'ns:t' }, throttles: [], space: { limit: 1, policy: 'NO_WRITES' } },
      { subject: { namespace: 'ns' }, throttles: [], space: { limit: 2 ** 40, policy: 'DISABLE' } },
      {
        subject: { user: 'u', table: 'ns:t' },
        throttles: [{ counts: 'READ_NUMBER', limit: 7, per: 'HOURS' }],
        space: undefined,
      },
      {
        subject: { user: 'u', namespace: 'ns' },
        throttles: [{ counts: 'WRITE_SIZE', limit: 8, per: 'DAYS' }],
        space: undefined,
      },
      {
        subject: { user: 'u' },
        throttles: [{ counts: 'REQUEST_NUMBER', limit: 9, per: 'SECONDS' }],
        space: undefined,
      },
    ]),
  );
  await expect.poll(write, PATIENCE).toContain('SpaceLimitingException');
  await expect
    .poll(() => admin.getSpaceQuotaStates(), PATIENCE)
    .toEqual(
      expect.arrayContaining([
        { subject: { table: 'ns:t' }, used: expect.any(Number), limit: 1, violated: true },
        { subject: { namespace: 'ns' }, used: expect.any(Number), limit: 2 ** 40, violated: false },
      ]),
    );

  await admin.setSpaceQuota({ table: 'ns:t' }, undefined);
  await expect.poll(write, PATIENCE).toBe('');
  expect((await admin.listQuotas()).map(({ subject }) => subject)).not.toContainEqual({ table: 'ns:t' });
});

it('that cannot be are refused before they are sent', async () => {
  const { admin } = engine;
  const refused = { code: 'ERR_INVALID_ARGUMENT' };
  for (const limit of [0, -1, 1.5, Number.NaN]) {
    await expect(admin.setSpaceQuota({ table: 't' }, { limit, policy: 'DISABLE' })).rejects.toMatchObject(
      refused,
    );
  }
  const policy = 'WHATEVER' as never;
  await expect(admin.setSpaceQuota({ table: 't' }, { limit: 1, policy })).rejects.toMatchObject(refused);
  await expect(admin.setSpaceQuota({} as never, undefined)).rejects.toMatchObject(refused);
  const both = { table: 't', namespace: 'n' } as never;
  await expect(admin.setSpaceQuota(both, undefined)).rejects.toMatchObject(refused);
});
