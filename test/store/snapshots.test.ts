/** Snapshots of tables: what they hold, beside writers and all that changes files, over crashes, and that nothing is left of them. */

import { expect, test } from 'vitest';
import type { EmbeddedAdmin } from '../../src/store/embedded-admin.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { Delete, Put, type Result, Scan, type SyncTable, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const start = (fileSystem: MemoryFileSystem): Promise<EmbeddedEngine> =>
  openEmbedded('/s', { fileSystem, background: 'inline', memstoreFlushSize: 4096 });
const adminOf = (engine: EmbeddedEngine) => engine.admin as EmbeddedAdmin;
const filesIn = (fileSystem: MemoryFileSystem): number =>
  fileSystem.readdir('/s').filter((name) => name.endsWith('.sst')).length;

async function contentOf(engine: EmbeddedEngine, table: string): Promise<string> {
  const rows: Result[] = [];
  const scanner = engine.table(table).scan(new Scan());
  for (;;) {
    const batch = await scanner.nextBatch(100);
    rows.push(...batch);
    if (batch.length === 0) break;
  }
  return rows
    .flatMap(({ cells }) => cells)
    .map(({ row, family, qualifier, value }) => [row, family, qualifier, value].map(String).join('|'))
    .join('\n');
}

test('a snapshot holds one moment, of all rows and families, beside a writer and compactions', async () => {
  const engine = await start(new MemoryFileSystem());
  const admin = adminOf(engine);
  await admin.createTable(tableDescriptor('t', { a: {}, b: {} }), [Buffer.from('m')]);
  const table = engine.table('t') as SyncTable;
  const filler = Buffer.alloc(200, 'x');
  let written = 0;
  const write = (n: number): Promise<void> =>
    table.atomic!((step) => {
      for (const row of ['b', 'n', 'z']) {
        const put = new Put(row).addColumn('a', 'n', String(n)).addColumn('b', 'n', String(n));
        step.apply({ table: 't', change: put.addColumn('b', `f${n}`, filler) });
      }
      if (n > 3)
        for (const row of ['b', 'z'])
          step.apply({ table: 't', change: new Delete(row).addColumns('b', `f${n - 3}`) });
    });
  await write(0);
  let going = true;
  const writer = (async () => {
    while (going) {
      const n = written + 1;
      await write(n);
      written = n;
      if (n % 10 === 0) await admin.flush('t', n % 20 === 0 ? 'a' : 'b');
      if (n % 35 === 0) await admin.majorCompact('t');
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  for (let no = 0; no < scaled(4, 40, 200); no++) {
    const before = written;
    await admin.snapshot(`s${no}`, 't');
    const after = written + 1;
    await admin.cloneSnapshot(`s${no}`, `c${no}`);
    const scanner = engine.table(`c${no}`).scan(new Scan());
    const rows = await scanner.nextBatch(10);
    const seen = rows
      .flatMap((row) => [row.getValue('a', 'n'), row.getValue('b', 'n')])
      .map((value) => Buffer.from(value!).toString());
    expect(new Set(seen).size, `snapshot ${no}: ${seen}`).toBe(1);
    expect(seen).toHaveLength(6);
    expect(Number(seen[0])).toBeGreaterThanOrEqual(before);
    expect(Number(seen[0])).toBeLessThanOrEqual(after);
  }
  going = false;
  await writer;
  await engine.close();
});

test('any order of writes, snapshots, clones, restores, deletes, compactions, splits, merges and crashes', async () => {
  for (let seed = 1; seed <= scaled(2, 30, 300); seed++) {
    const random = new Random(seed);
    let fileSystem = new MemoryFileSystem();
    let engine = await start(fileSystem);
    const tables = new Map<string, string>();
    const snapshots = new Map<string, { table: string; content: string }>();
    const note = async (table: string): Promise<void> =>
      void tables.set(table, await contentOf(engine, table));
    await engine.admin.createTable(tableDescriptor('t0', { a: {}, b: { versions: 3 } }));
    await note('t0');
    for (let step = 0; step < 60; step++) {
      const admin = adminOf(engine);
      const name = `t${random.below(3)}`;
      const snapshot = `s${random.below(3)}`;
      const kind = random.below(9);
      if (kind <= 2 && tables.has(name)) {
        for (let i = 0; i < 20; i++) {
          const row = `r${random.below(40)}`;
          const put = new Put(row)
            .addColumn('a', 'q', `${step} ${i}`)
            .addColumn('b', 'q', 'x'.repeat(random.below(300)));
          if (random.chance(0.2)) await engine.table(name).delete(new Delete(row));
          else await engine.table(name).put(put);
        }
        await note(name);
      } else if (kind === 3 && tables.has(name)) {
        const taken = admin.snapshot(snapshot, name);
        if (snapshots.has(snapshot))
          await expect(taken).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
        else {
          await taken;
          snapshots.set(snapshot, { table: name, content: tables.get(name)! });
        }
      } else if (kind === 4) {
        const cloned = admin.cloneSnapshot(snapshot, name);
        const of = snapshots.get(snapshot);
        if (of === undefined || tables.has(name))
          await expect(cloned).rejects.toMatchObject({ code: expect.stringMatching(/INVALID|EXISTS/) });
        else {
          await cloned;
          tables.set(name, of.content);
        }
      } else if (kind === 5 && snapshots.has(snapshot)) {
        const { table, content } = snapshots.get(snapshot)!;
        if (tables.has(table)) {
          await expect(admin.restoreSnapshot(snapshot)).rejects.toMatchObject({ code: 'ERR_TABLE_ENABLED' });
          await admin.disableTable(table);
        }
        await admin.restoreSnapshot(snapshot);
        await admin.enableTable(table);
        tables.set(table, content);
      } else if (kind === 6) {
        if (random.chance(0.5) && snapshots.delete(snapshot)) await admin.deleteSnapshot(snapshot);
        else if (tables.delete(name)) {
          await admin.disableTable(name);
          await admin.deleteTable(name);
        }
      } else if (kind === 7 && tables.has(name)) {
        await random.pick([
          () => admin.flush(name),
          () => admin.majorCompact(name),
          () => admin.split(name),
          async () => {
            const regions = (await admin.getRegions(name)).map((each) => each.name);
            if (regions.length > 1) await admin.mergeRegions(regions);
            else await admin.split(name);
          },
        ])();
      } else if (kind === 8 && random.chance(0.5)) {
        if (random.chance(0.5)) {
          fileSystem = fileSystem.crash({ keepUnsynced: 0, random: () => 0 });
          await engine.close().catch(() => undefined);
        } else await engine.close();
        engine = await start(fileSystem);
      }
      const when = `seed ${seed}, step ${step}, ${kind}`;
      expect(
        (await engine.admin.listTables()).map((one) => one.name),
        when,
      ).toEqual([...tables.keys()].sort());
      expect(
        (await adminOf(engine).listSnapshots()).map((one) => [one.name, one.table]),
        when,
      ).toEqual([...snapshots].map(([key, { table }]) => [key, table]).sort());
      for (const [table, content] of tables) expect(await contentOf(engine, table), when).toBe(content);
    }
    await engine.verify();
    for (const snapshot of snapshots.keys()) await adminOf(engine).deleteSnapshot(snapshot);
    for (const table of tables.keys()) {
      await engine.admin.disableTable(table);
      await engine.admin.deleteTable(table);
    }
    expect(filesIn(fileSystem), `seed ${seed}`).toBe(0);
    await engine.close();
  }
});

test('nobody sees the tables that snapshots are', async () => {
  const engine = await start(new MemoryFileSystem());
  const admin = adminOf(engine);
  await admin.createTable(tableDescriptor('t', { a: {} }));
  await admin.snapshot('s', 't');
  expect(await admin.tableExists('rowan_snapshots:s')).toBe(false);
  expect(await admin.listNamespaces()).toEqual(['default', 'hbase']);
  await expect(admin.createNamespace('rowan_snapshots')).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await expect(admin.enableTable('rowan_snapshots:s')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  for (const wrong of ['', 'a b', null, 5, '../x']) {
    await expect(admin.snapshot(wrong as never, 't')).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  }
  await expect(admin.snapshot('s2', 'none')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  await expect(admin.deleteSnapshot('none')).rejects.toThrow(/There is no snapshot "none"\. Snapshots: s\./);
  await engine.close();
});
