/** Lines of the table in docs/bigtable.md that no rule of the conformance suite tells. */

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import {
  Delete,
  type Engine,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { connectShared } from './connect.js';

let engine: Engine;
let table: Table;
beforeAll(async () => {
  engine = await connectShared();
  await engine.admin.createTable(tableDescriptor('t', { f: {}, many: { versions: 10 } }));
  table = engine.table('t');
});
afterAll(() => engine.close());

const put = (row: string, value: string | Uint8Array = row, timestamp?: number): Put =>
  new Put(row).addColumn('f', 'q', value, timestamp);

async function versionsOf(row: string, family: string): Promise<string[]> {
  const { cells } = await table.get(new Get(row).addFamily(family).readAllVersions());
  return cells.map(({ value, timestamp }) => `${timestamp} ${toLatin1(value)}`);
}

const refused = (code: string) => ({ code });

it('changes of several rows in one step are refused', async () => {
  await expect(table.batch([put('a'), put('b')], { atomic: true })).rejects.toMatchObject(
    refused('ERR_UNSUPPORTED'),
  );
  expect((await table.get(new Get('a'))).isEmpty).toBe(true);
});

it('of two writes in one millisecond only the later remains', async () => {
  for (const value of ['one', 'two']) await table.put(new Put('c').addColumn('many', 'q', value, 7));
  expect(await versionsOf('c', 'many')).toEqual(['7 two']);
});

it('readers apply VERSIONS and TTL, whatever was not collected yet', async () => {
  for (const timestamp of [1, 3, 2]) await table.put(put('d', `${timestamp}`, timestamp));
  expect(await versionsOf('d', 'f')).toEqual(['3 3']);
  await engine.admin.createTable(tableDescriptor('ended', { f: { ttl: 60 } }));
  const ended = engine.table('ended');
  await ended.put(put('r', 'old', Date.now() - 61_000));
  expect((await ended.get(new Get('r'))).isEmpty).toBe(true);
  expect(await ended.exists(new Get('r'))).toBe(false);
});

const keepings = fc
  .record({
    versions: fc.integer({ min: 1, max: 4 }),
    minVersions: fc.integer({ min: 0, max: 4 }),
    ttl: fc.constantFrom<number | 'FOREVER'>('FOREVER', 60),
    ages: fc.uniqueArray(fc.constantFrom(1, 20, 40, 80, 100, 200), { minLength: 1 }),
  })
  .filter(({ versions, minVersions }) => minVersions <= versions);

it('readers apply VERSIONS, MIN_VERSIONS and TTL as the embedded engine does, whatever was collected', async () => {
  const stored = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  const now = Date.now();
  const families = [
    { versions: 1, minVersions: 1, ttl: 60, ages: [80] } as const,
    { versions: 2, minVersions: 0, ttl: 60, ages: [80] } as const,
    ...fc.sample(keepings, scaled(12, 40, 200)),
  ];
  // Whether versions beyond the ttl are read, and whether some are not.
  const seen = new Set<boolean>();
  for (const [i, { ages, ...family }] of families.entries()) {
    const name = `kept${i}`;
    const found: string[][] = [];
    for (const each of [engine, stored]) {
      await each.admin.createTable(tableDescriptor(name, { f: family }));
      for (const age of ages) await each.table(name).put(put('r', `${age}`, now - age * 1000));
      const row = await each.table(name).get(new Get('r').readAllVersions());
      const scanned = await each.table(name).scan(new Scan().readAllVersions()).next();
      expect(scanned?.cells.length ?? 0).toBe(row.cells.length);
      found.push(row.cells.map(({ value }) => toLatin1(value)));
    }
    expect([family, ages, found[0]]).toEqual([family, ages, found[1]]);
    if (family.ttl === 60) for (const age of ages) if (age > 60) seen.add(found[0]!.includes(`${age}`));
  }
  expect(seen.size).toBe(2);
  await stored.close();
});

it('a delete without a timestamp removes versions with a future timestamp too', async () => {
  const future = Date.now() + 1e9;
  await table.put(put('e', 'ahead', future));
  await table.delete(new Delete('e').addColumns('f', 'q'));
  expect(await versionsOf('e', 'f')).toEqual([]);
});

it('deletes of a family up to a time, of a family version and of the newest version read the row', async () => {
  const fill = (row: string) =>
    table.put(
      [1, 2, 3].reduce(
        (all, time) => all.addColumn('many', 'p', `p${time}`, time).addColumn('many', 'q', `q${time}`, time),
        new Put(row),
      ),
    );
  for (const row of ['f1', 'f2', 'f3']) await fill(row);
  await table.delete(new Delete('f1').addFamily('many', 2));
  expect(await versionsOf('f1', 'many')).toEqual(['3 p3', '3 q3']);
  await table.delete(new Delete('f2').addFamilyVersion('many', 2));
  expect(await versionsOf('f2', 'many')).toEqual(['3 p3', '1 p1', '3 q3', '1 q1']);
  await table.delete(new Delete('f3').addColumn('many', 'q'));
  expect(await versionsOf('f3', 'many')).toEqual(['3 p3', '2 p2', '1 p1', '2 q2', '1 q1']);
});

it('changes that read their row are refused when the row does not fit a filter', async () => {
  await table.put(put('g', new Uint8Array(21_000)));
  const change = new RowMutations('g').add(new Increment('g').addColumn('f', 'n', 1));
  await expect(table.mutateRow(change)).rejects.toMatchObject(refused('ERR_TOO_LARGE'));
  // By itself an increment is one step of the service.
  const { cells } = await table.increment(new Increment('g').addColumn('f', 'n', 1));
  expect(Buffer.from(cells[0]!.value).readBigInt64BE()).toBe(1n);
});

it('a value of more than 100 MB is refused before it is sent', async () => {
  const value = new Uint8Array(100 * 2 ** 20 + 1);
  await expect(table.put(put('h', value))).rejects.toMatchObject(refused('ERR_TOO_LARGE'));
});

it('a change of a row of more than 256 MiB is refused before it is sent', async () => {
  const value = new Uint8Array(90 * 2 ** 20);
  const change = new Put('h');
  for (const name of ['p', 'q', 'r']) change.addColumn('f', name, value);
  const error = { code: 'ERR_TOO_LARGE', message: expect.stringContaining('268435456') };
  await expect(table.put(change)).rejects.toMatchObject(error);
  await expect(table.mutateRow(new RowMutations('h').add(change))).rejects.toMatchObject(error);
  const [outcome] = await table.batch([change]);
  expect(outcome).toMatchObject({ ok: false, error });
  expect((await table.get(new Get('h'))).isEmpty).toBe(true);
});

it('visibility labels are refused', async () => {
  await expect(table.get(new Get('d').setAuthorizations(['secret']))).rejects.toMatchObject(
    refused('ERR_UNSUPPORTED'),
  );
  await expect(table.put(put('i').setCellVisibility('secret'))).rejects.toMatchObject(
    refused('ERR_UNSUPPORTED'),
  );
});

it('flush, compact and majorCompact have no effect', async () => {
  const { admin } = engine;
  await admin.flush('t');
  await admin.compact('t');
  await admin.majorCompact('t');
  expect(await versionsOf('d', 'f')).toEqual(['3 3']);
});
