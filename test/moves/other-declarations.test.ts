/** Work on all rows that a life has left unfinished, and that follows from other declarations in the next one. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';

const table = defineTable({ name: 'notes', families: { d: {}, e: {} } });
const key = [part('id')] as const;
const IDS = ['1', '2', '3', '4', '5', '6'];

/** Runs work on the rows of the table until it has changed two of them. */
async function interrupted(
  db: Database<EmbeddedEngine>,
  work: (run: { batchRows: number; signal: AbortSignal }) => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController();
  let changed = 0;
  const end = db.engine.observe('notes', {
    before: () => {
      if (++changed === 2) stop.abort();
      return undefined;
    },
  });
  await expect(work({ batchRows: 1, signal: stop.signal })).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  end();
}

const change = (version: number) =>
  upgrade(
    version,
    { old: (c) => ({ size: c.column(`d:v${version}`, text).optional() }), sets: ['size'], writeBack: true },
    ({ size }) => ({ size: `${size}+${version}` }),
  );

test('rows whose upgrade was cut off are upgraded to the next version', async () => {
  const version = (number: number): KeyedClass =>
    defineEntity({
      name: 'Note',
      table,
      key,
      columns: (c) => ({ size: c.column(`d:v${number}`, text).optional() }),
      ...(number > 1 && {
        schemaVersion: number,
        upgrades: Array.from({ length: number - 1 }, (_, i) => change(i + 1)),
      }),
    }) as unknown as KeyedClass;
  const [First, Second, Third] = [version(1), version(2), version(3)];
  const disk = new MemoryFileSystem();
  const first = await openMemory({ disk, entities: [First] });
  await first.repository(First).putMany(IDS.map((id) => ({ id, size: 's' }) as never));
  await first.close();
  const second = await openMemory({ disk, entities: [Second] });
  await interrupted(second, (run) => second.schema.upgradeRows(Second, run));
  await second.close();
  const third = await openMemory({ disk, entities: [Third] });
  await expect(third.schema.upgradeRows(Third, { restart: false })).rejects.toMatchObject({
    code: 'ERR_JOB',
  });
  expect((await third.schema.upgradeRows(Third)).counters).toMatchObject({ upgraded: IDS.length });
  const found = await third
    .repository(Third)
    .find({} as never, { fullScan: true })
    .all();
  expect(found.map((note) => (note as unknown as { size: string }).size)).toEqual(IDS.map(() => 's+1+2'));
  await third.close();
});

test('columns whose move was cut off are moved with those that have moved since', async () => {
  const places = (moved: number): KeyedClass =>
    defineEntity({
      name: 'Note',
      table,
      key,
      columns: (c) => ({
        a: c.column(moved > 0 ? 'e:a' : 'd:a', text, moved > 0 ? { was: ['d:a'] } : {}),
        b: c.column(moved > 1 ? 'e:b' : 'd:b', text, moved > 1 ? { was: ['d:b'] } : {}),
      }),
    }) as unknown as KeyedClass;
  const [Before, One, Both] = [places(0), places(1), places(2)];
  const disk = new MemoryFileSystem();
  const before = await openMemory({ disk, entities: [Before] });
  await before.repository(Before).putMany(IDS.map((id) => ({ id, a: 'a', b: 'b' }) as never));
  await before.close();
  const one = await openMemory({ disk, entities: [One] });
  await interrupted(one, (run) => one.schema.moveColumns(One, run));
  await one.close();
  const both = await openMemory({ disk, entities: [Both] });
  expect((await both.schema.moveColumns(Both)).counters).toMatchObject({ moved: IDS.length, left: 0 });
  const rows = await both
    .repository(Both)
    .find({} as never, { fullScan: true })
    .all();
  expect(rows).toMatchObject(IDS.map((id) => ({ id, a: 'a', b: 'b' })));
  await both.close();
});
