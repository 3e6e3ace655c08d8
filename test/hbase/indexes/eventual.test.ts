/**
 * Eventual indexes on a real HBase: nobody waits for entries to be verified, and a program that ends behind any of its
 * changes leaves what waits to whoever drains.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { Column, Entity, Index, int32, part, RowKey, Table, text } from '../../../src/index.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Repository } from '../../../src/repository/index.js';
import type { Engine } from '../../../src/table/index.js';
import { Mortal } from '../../proof/dying.js';
import { scaled } from '../../proof/scale.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';

@Table({ name: 'late', families: { d: {} } })
class LateTable {}

@Entity({ table: LateTable })
@RowKey(part('id'))
@Index('byColor', [part('color')], { include: ['size'], consistency: 'eventual' })
@Index('bySize', [part('size', int32)])
class Late {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; bySize: ['size'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:s', int32) size?: number | null;
}

@Entity({ table: { name: 'ahead', families: { d: {} } } })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
class Ahead {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
}

const COLORS = ['red', 'green', 'blue'];
const SETTLED = { missing: 0, extra: 0, stale: 0, unverified: 0, pending: 0 };

let db: TestDatabase;
let late: Repository<typeof Late>;
let other: Engine;

beforeAll(async () => {
  db = await openTestDatabase([Late, Ahead]);
  late = db.repository(Late);
  other = await connectShared();
});
afterAll(async () => {
  await other.close();
  await db.dispose();
});

async function expectTrue(when: string): Promise<void> {
  const rows = await late.find({}, { fullScan: true }).all();
  for (const color of COLORS) {
    const wanted = rows.filter((row) => row.color === color).map(({ id }) => id);
    const found = await late.by('byColor').find({ color }).select('size').all();
    expect(found.map(({ id }) => id).sort(), when).toEqual(wanted.sort());
  }
}

test('a program may end behind any read or change: no query is wrong, what waits is counted as such, and drained', async () => {
  const mortal = new Mortal(other);
  const dying = new Database(compileSchema([Late]), mortal.mortal, 'verify');
  await dying.ready();
  const repo = dying.repository(Late);
  const writes: ((id: string) => Promise<unknown>)[] = [
    (id) => repo.insert({ id: `new-${id}`, color: 'red', size: 1 }),
    (id) => repo.put({ id, color: 'blue', size: 2 }),
    (id) => repo.update({ id }, { color: 'green' }),
    (id) => repo.delete({ id }),
  ];
  let deaths = 0;
  let pending = 0;
  const stride = scaled(3, 1, 1);
  for (const [place, write] of writes.entries()) {
    for (let after = place % stride; ; after += stride) {
      const id = `${place}-${after}`;
      await late.put({ id, color: 'red', size: 0 });
      mortal.dieAfter(after);
      await write(id).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      const died = mortal.isDead;
      const when = `write ${place}, ended after ${after}`;
      const report = await db.index(Late, 'byColor').verify();
      expect(report, when).toMatchObject({ missing: 0, extra: 0, stale: 0, unverified: 0 });
      pending += report.pending;
      await expectTrue(when);
      mortal.live();
      if (!died) break;
      deaths++;
      expect(after).toBeLessThan(60);
    }
  }
  expect(deaths).toBeGreaterThan(scaled(4, 16, 16));
  expect(pending).toBeGreaterThan(0);
  await db.index(Late, 'byColor').drain();
  expect(await db.index(Late, 'byColor').verify()).toMatchObject(SETTLED);
  await expectTrue('drained');
  expect(await db.index(Late, 'byColor').drain()).toBe(0);
});

test('what lives is verified after the writes, without anybody asking for it', async () => {
  await late.putMany(Array.from({ length: 40 }, (_, i) => ({ id: `m${i}`, color: COLORS[i % 3]!, size: i })));
  await Promise.all(Array.from({ length: 20 }, (_, i) => late.update({ id: `m${i}` }, { color: 'blue' })));
  while ((await db.index(Late, 'byColor').verify()).pending > 0)
    await new Promise((next) => setImmediate(next));
  expect(await db.index(Late, 'byColor').verify()).toMatchObject(SETTLED);
  await expectTrue('settled');
});

test('a program may end behind any request of a new row: what it lacks is pending, and drained by others', async () => {
  const mortal = new Mortal(other);
  const index = db.index(Ahead, 'byColor');
  let pending = 0;
  for (let after = 0; ; after++) {
    const dying = new Database(compileSchema([Ahead]), mortal.mortal, 'verify');
    await dying.ready();
    mortal.dieAfter(after);
    await dying
      .repository(Ahead)
      .put({ id: `r${after}`, color: 'red' })
      .catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
    await dying['wiring'].contexts.rest();
    await mortal.arrived();
    const died = mortal.isDead;
    const report = await index.verify();
    expect(report, `ended after ${after}`).toMatchObject({ missing: 0, extra: 0, stale: 0, unverified: 0 });
    pending += report.pending;
    mortal.live();
    if (!died) break;
    expect(after).toBeLessThan(60);
  }
  expect(pending).toBeGreaterThan(0);
  await index.drain();
  expect(await index.verify()).toMatchObject(SETTLED);
  const rows = await db.repository(Ahead).find({}, { fullScan: true }).all();
  const found = await db.repository(Ahead).by('byColor').find({ color: 'red' }).all();
  expect(found.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
  expect(rows.length).toBeGreaterThan(1);
});
