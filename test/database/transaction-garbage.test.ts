/** What ended transactions leave for the garbage collector: young objects, which a scavenge frees. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Column, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { int32, text, uint32 } from '../../src/codec/index.js';
import { openMemory } from '../../src/testing/index.js';

@Table({ name: 'garbage', families: { d: {} } })
class Places {}

@Entity({ table: Places })
@RowKey(part('id', uint32))
class Place {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:n', text) name!: string;
  @Column('d:v', int32) visits!: number;
}

test('a transaction that has ended is freed with the young objects', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const db = await openMemory({ entities: [Place] });
  await db.repository(Place).put({ id: 1, name: 'harbour', visits: 0 });
  const visit = () =>
    db.transaction(async (tx) => {
      const places = tx.repository(Place);
      const { visits } = await places.getOrThrow({ id: 1 });
      await places.update({ id: 1 }, { visits: visits + 1 });
    });
  const TRANSACTIONS = 1000;
  const bytesLeft = async (): Promise<number> => {
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < TRANSACTIONS; i++) await visit();
    // What survives two scavenges is old.
    collect({ type: 'minor' });
    collect({ type: 'minor' });
    return (process.memoryUsage().heapUsed - before) / TRANSACTIONS;
  };
  const rounds: number[] = [];
  for (let round = 0; round < 5; round++) rounds.push(await bytesLeft());
  // Where one object of each is old from the start, and keeps what it refers to, 3 KiB are left in every round; else some 250 bytes, and in
  // single rounds what else the process does.
  expect(Math.min(...rounds)).toBeLessThan(1200);
  await db.close();
});
