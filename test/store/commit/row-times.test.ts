/** The times of writes that have none of their own: each comes after what it follows in its row, whatever the clock does. */

import { describe, expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  RowMutations,
  type Table,
  type TableChange,
} from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { createTable, memoryStore, put, readValue, type TestStore } from '../engine/support.js';

async function withTable(
  families?: Parameters<typeof createTable>[1],
): Promise<{ store: TestStore; table: Table }> {
  const store = await memoryStore();
  return { store, table: await createTable(store.engine, families) };
}

/** The store as it is found after the power went, with nothing kept that was not synced. */
async function killed(store: TestStore): Promise<void> {
  const fileSystem = store.fileSystem.crash({ keepUnsynced: 0, random: () => 0.5 });
  await store.engine.close();
  store.engine = await openEmbedded('/db', { fileSystem, clock: () => store.now, automatic: false });
}

/** Every way to delete what a put of f:q wrote. */
const deletes: Record<string, () => Delete> = {
  'the row': () => new Delete('r'),
  'the family': () => new Delete('r').addFamily('f'),
  'the column': () => new Delete('r').addColumns('f', 'q'),
  'the newest version': () => new Delete('r').addColumn('f', 'q'),
};

describe.each(Object.keys(deletes))('a delete of %s and a put after it in the same millisecond', (name) => {
  const del = deletes[name]!;

  test('asked for at once: the put stands, as often as it is done', async () => {
    const { store, table } = await withTable();
    for (let i = 0; i < scaled(15, 50, 50); i++) {
      await Promise.all([
        table.put(put('r', `old${i}`)),
        table.delete(del()),
        table.put(put('r', `new${i}`)),
      ]);
      expect(await readValue(table, 'r')).toBe(`new${i}`);
    }
    await Promise.all([table.put(put('r', 'last')), table.delete(new Delete('r'))]);
    expect(await readValue(table, 'r')).toBeUndefined();
    await store.engine.close();
  });

  test('the clock steps back between them', async () => {
    const { store, table } = await withTable();
    await table.put(put('r', 'old'));
    await table.delete(del());
    store.now -= 3_600_000;
    await table.put(put('r', 'new'));
    expect(await readValue(table, 'r')).toBe('new');
    await table.delete(del());
    expect((await table.get(new Get('r'))).getValue('f', 'q')).not.toEqual(Buffer.from('new'));
    await store.engine.close();
  });

  test.each(['closed', 'killed', 'flushed and closed', 'opened twice'])(
    'the store is %s between them',
    async (how) => {
      const { store, table } = await withTable();
      await Promise.all([
        table.put(put('r', 'old')),
        table.delete(del()),
        table.put(put('r', 'new')),
        table.delete(del()),
      ]);
      if (how === 'flushed and closed') await store.engine.admin.flush('t');
      store.now -= 86_400_000;
      if (how === 'killed') await killed(store);
      else await store.reopen();
      if (how === 'opened twice') await store.reopen();
      await store.engine.table('t').put(put('r', 'newest'));
      expect(await readValue(store.engine.table('t'), 'r')).toBe('newest');
      await store.engine.close();
    },
  );

  test('the put is an increment, an append, a checked put, a part of row mutations or of a batch', async () => {
    const { store, table } = await withTable();
    const writes: ((table: Table) => Promise<unknown>)[] = [
      (t) => t.increment(new Increment('r').addColumn('f', 'q', 1n)),
      (t) => t.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), put('r', 'new'))),
      (t) => t.mutateRow(new RowMutations('r').add(put('r', 'new'))),
      (t) => t.putAll([put('a', 'x'), put('r', 'new')]),
      (t) => t.batch([put('a', 'x'), put('r', 'new')]),
    ];
    for (const write of writes) {
      await table.delete(new Delete('r'));
      await table.put(new Put('r').addColumn('f', 'q', new Uint8Array(8)));
      await table.delete(del());
      if (name === 'the newest version') await table.delete(new Delete('r').addColumns('f', 'q'));
      await write(table);
      expect(await readValue(table, 'r')).toBeDefined();
    }
    await store.engine.close();
  });

  test('both in one batch, atomic or not', async () => {
    const { store, table } = await withTable();
    for (const atomic of [false, true]) {
      await table.put(put('r', 'old'));
      const outcomes = await table
        .batch([del(), put('r', `new ${atomic}`)], { atomic })
        .catch((error) => [error]);
      if (name === 'the newest version' && atomic) continue; // It reads its row: refused.
      expect(outcomes).toMatchObject([{ ok: true }, { ok: true }]);
      expect(await readValue(table, 'r')).toBe(`new ${atomic}`);
    }
    await store.engine.close();
  });
});

describe.each([1, 5])('2,000 increments at once in a family of %i versions', (versions) => {
  const run = async (table: Table): Promise<void> => {
    const all = Array.from({ length: 2_000 }, () =>
      table.increment(new Increment('r').addColumn('f', 'q', 1n)),
    );
    await Promise.all(all);
    expect((await table.get(new Get('r'))).getValue('f', 'q')).toEqual(
      new Uint8Array([0, 0, 0, 0, 0, 0, 7, 208]),
    );
  };

  test('a put after them is seen, and a delete takes all of them', async () => {
    const { store, table } = await withTable({ f: { versions } });
    await run(table);
    await table.put(put('r', 'after'));
    expect(await readValue(table, 'r')).toBe('after');
    await table.delete(new Delete('r'));
    expect(await readValue(table, 'r')).toBeUndefined();
    await table.increment(new Increment('r').addColumn('f', 'q', 7n));
    expect((await table.get(new Get('r'))).getValue('f', 'q')).toEqual(
      new Uint8Array([0, 0, 0, 0, 0, 0, 0, 7]),
    );
    await store.engine.close();
  });

  test('the same when the store is opened anew, with a clock that has stepped back', async () => {
    const { store, table } = await withTable({ f: { versions } });
    await run(table);
    store.now -= 1_000;
    await store.reopen();
    await store.engine.table('t').delete(new Delete('r'));
    expect(await readValue(store.engine.table('t'), 'r')).toBeUndefined();
    await store.engine.close();
  });

  test('they run no more than a second ahead of the clock', async () => {
    const { store, table } = await withTable({ f: { versions } });
    await run(table);
    const [cell] = (await table.get(new Get('r'))).cells;
    expect(cell!.timestamp - store.now).toBeLessThanOrEqual(1_000);
    await store.engine.close();
  });
});

test('writes without the log are remembered with the files they go to', async () => {
  const { store, table } = await withTable();
  store.now += 5_000;
  await table.put(put('r', 'old').setDurability('SKIP_WAL'));
  await table.delete(new Delete('r').setDurability('SKIP_WAL'));
  await store.engine.admin.flush('t');
  store.now -= 86_400_000;
  await killed(store);
  await store.engine.table('t').put(put('r', 'new'));
  expect(await readValue(store.engine.table('t'), 'r')).toBe('new');
  await store.engine.close();
});

test('many rows deleted within one millisecond do not grow what is remembered without end', async () => {
  const { store, table } = await withTable();
  const [rows, length] = scaled([600, 15_000], [300, 30_000], [300, 30_000]);
  const key = 'k'.repeat(length);
  for (let i = 0; i < 3; i++) {
    const all = Array.from({ length: rows }, (_, at) => new Delete(`${key}${i}-${at}`));
    await table.batch(all);
  }
  await table.batch([put(`${key}0-1`, 'new'), put(`${key}2-${rows - 1}`, 'new')]);
  expect(await readValue(table, `${key}0-1`)).toBe('new');
  expect(await readValue(table, `${key}2-${rows - 1}`)).toBe('new');
  const { cells } = await table.get(new Get(`${key}0-1`));
  expect(cells[0]!.timestamp - store.now).toBeLessThanOrEqual(10);
  await store.engine.close();
});

test('timestamps that are given behave as in HBase', async () => {
  const { store, table } = await withTable();
  const future = store.now + 1_000_000;
  await table.put(put('r', 'future', 'f', 'q', future));
  await table.put(put('r', 'now'));
  expect(await readValue(table, 'r')).toBe('future');
  await table.delete(new Delete('r'));
  expect(await readValue(table, 'r')).toBe('future');
  await table.delete(new Delete('r').addColumns('f', 'q', future));
  await table.put(put('r', 'hidden'));
  expect(await readValue(table, 'r')).toBeUndefined();
  await table.put(put('s', 'future', 'f', 'q', future));
  await table.delete(new Delete('s').addColumn('f', 'q'));
  await table.put(put('s', 'now'));
  const [cell] = (await table.get(new Get('s'))).cells;
  expect(cell).toMatchObject({ timestamp: store.now });
  await store.engine.close();
});

/** Every way to give a change whose times were given by the store before. */
const ways: Record<string, (store: TestStore, changes: readonly TableChange[]) => Promise<unknown>> = {
  'a commit': ({ engine }, changes) => engine.table('t').commit!(() => [changes]),
  'a commit of a table that is observed': async ({ engine }, changes) => {
    const end = engine.observe('t', { after: () => undefined });
    await engine.table('t').commit!(() => [changes]);
    end();
  },
  'a step': ({ engine }, changes) =>
    engine.table('t').atomic!((step) => changes.forEach((change) => step.apply(change))),
  'a step of a transaction': ({ engine }, changes) =>
    engine.transaction!((tx) =>
      tx.table('t').atomic!((step) => changes.forEach((change) => step.apply(change))),
    ),
  'a commit of a transaction': ({ engine }, changes) =>
    engine.transaction!((tx) => tx.table('t').commit!(() => [changes])),
};

describe.each(Object.keys(ways))('changes with assigned timestamps by %s', (name) => {
  const settle = (store: TestStore, change: Delete | Put) =>
    ways[name]!(store, [{ table: 't', change, timestampsAssigned: true }]);

  test('a write behind them, in the millisecond of their cells, comes behind them', async () => {
    const { store, table } = await withTable();
    await table.put(put('r', 'old'));
    const [cell] = (await table.get(new Get('r'))).cells;
    await settle(store, new Delete('r').addColumns('f', 'q', cell!.timestamp));
    expect(await readValue(table, 'r')).toBeUndefined();
    await table.put(put('r', 'new'));
    expect(await readValue(table, 'r')).toBe('new');
    await store.engine.close();
  });

  test('a time that the store has not come to yet sets neither its clock nor that of the row', async () => {
    const { store, table } = await withTable();
    const future = store.now + 1_000_000;
    await settle(store, put('r', 'future', 'f', 'q', future));
    await settle(store, new Delete('r').addColumns('f', 'q', future));
    await table.put(put('r', 'other', 'f', 'p'));
    await store.reopen();
    await store.engine.table('t').put(put('s', 'after'));
    for (const row of ['r', 's']) {
      const [written] = (await store.engine.table('t').get(new Get(row))).cells;
      expect(written!.timestamp - store.now).toBeLessThanOrEqual(2);
    }
    await store.engine.close();
  });
});
