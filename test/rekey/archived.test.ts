/** A change of keys in a store whose log is archived, or whose tables are backed up: a restore has the copied rows, whatever moment it is of. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int32 } from '../../src/codec/index.js';
import { type Database, type OpenOptions, open } from '../../src/database.js';
import { part, salt } from '../../src/key/index.js';
import { restoreStore } from '../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { backupTables } from '../../src/tools/backup.js';
import { restoreTables } from '../../src/tools/restore.js';

const thing = (name: string, table: string, salts: number) =>
  defineEntity({
    name,
    table: defineTable({ name: table, families: { d: {} } }),
    key: [salt(salts), part('id')],
    columns: (c) => ({ n: c.column('d:n', int32) }),
  });
const Old = thing('Old', 'olds', 2);
const New = thing('New', 'news', 4);

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-rekey-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const opened = (
  path: string,
  more: Pick<OpenOptions, 'logArchive' | 'clock'> = {},
): Promise<Database<EmbeddedEngine>> =>
  open({ path: join(root, path), background: 'inline', entities: [Old, New], ...more });

const STAGES = ['run', 'cutOver', 'cleanup'] as const;

async function numbers(db: Database, of: typeof Old | typeof New): Promise<number[]> {
  const found = await db.repository(of).find({}, { fullScan: true }).all();
  return found.map(({ n }) => n).sort((a, b) => a - b);
}

test.each([1, 2, 3])('restored after %i of its stages, it is finished without a loss', async (done) => {
  const rows = Array.from({ length: 50 }, (_, n) => ({ id: `id${n}`, n }));
  const db = await opened('store', { logArchive: join(root, 'archive') });
  await db.repository(Old).putMany(rows);
  await db.backup(join(root, 'backups'));
  for (const stage of STAGES.slice(0, done)) await db.rekey(Old, New)[stage]();
  await db.archiveLog();
  await db.close();
  await restoreStore(join(root, 'backups'), join(root, 'restored'), { log: join(root, 'archive') });
  const restored = await opened('restored');
  for (const stage of STAGES.slice(done)) await restored.rekey(Old, New)[stage]();
  expect(await numbers(restored, New)).toEqual(rows.map(({ n }) => n));
  expect(await numbers(restored, Old)).toEqual([]);
  await restored.close();
});

test('restored to a moment after it was aborted and begun anew, it has all copies', async () => {
  const rows = Array.from({ length: 50 }, (_, n) => ({ id: `id${n}`, n }));
  const db = await opened('store', { logArchive: join(root, 'archive') });
  await db.repository(Old).putMany(rows);
  await db.backup(join(root, 'backups'));
  await db.rekey(Old, New).run();
  await db.rekey(Old, New).abort();
  await db.rekey(Old, New).run();
  await db.archiveLog();
  await db.close();
  await restoreStore(join(root, 'backups'), join(root, 'restored'), { log: join(root, 'archive') });
  const restored = await opened('restored');
  expect(await restored.rekey(Old, New).status()).toMatchObject({ state: 'ready' });
  expect(await numbers(restored, New)).toEqual(rows.map(({ n }) => n));
  await restored.close();
});

test('an abort that ended before it emptied the new table ends when it is called again', async () => {
  const db = await opened('store');
  await db.repository(Old).put({ id: 'a', n: 1 });
  await db.rekey(Old, New).run();
  const { admin } = db.engine;
  const { truncateTable } = admin;
  admin.truncateTable = () => Promise.reject(new Error('cut off'));
  await expect(db.rekey(Old, New).abort()).rejects.toThrow('cut off');
  admin.truncateTable = truncateTable;
  await db.close();
  const later = await opened('store');
  await later.repository(Old).put({ id: 'b', n: 2 });
  await later.rekey(Old, New).abort();
  await later.rekey(Old, New).run();
  expect(await numbers(later, New)).toEqual([1, 2]);
  await later.close();
});

test.each([0, 1, 2, 3])(
  'tables that were backed up before it, and after %i of its stages, are restored whole',
  async (done) => {
    const rows = Array.from({ length: 50 }, (_, n) => ({ id: `id${n}`, n }));
    const clock = settableClock();
    const db = await opened('store', { clock });
    await db.repository(Old).putMany(rows);
    const folder = join(root, 'tables');
    await backupTables(db.engine, folder);
    for (const stage of STAGES.slice(0, done)) {
      clock.advance(3_600_000);
      await db.rekey(Old, New)[stage]();
      await backupTables(db.engine, folder, { incremental: true });
    }
    clock.advance(3_600_000);
    const [late] = rows.splice(7, 1);
    await db.repository(done > 1 ? New : Old).delete({ id: late!.id });
    await backupTables(db.engine, folder, { incremental: true });
    await db.close();
    const empty = await openEmbedded(join(root, 'restored'), { background: 'inline', clock });
    await restoreTables(empty, folder);
    await empty.close();
    const restored = await opened('restored', { clock });
    for (const stage of STAGES.slice(done)) await restored.rekey(Old, New)[stage]();
    expect(await numbers(restored, New)).toEqual(rows.map(({ n }) => n));
    expect(await numbers(restored, Old)).toEqual([]);
    await restored.close();
  },
);
