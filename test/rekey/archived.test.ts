/** A change of keys in a store whose log is archived: a restore has the copied rows, whatever moment it is of. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int32 } from '../../src/codec/index.js';
import { type Database, type OpenOptions, open } from '../../src/database.js';
import { part, salt } from '../../src/key/index.js';
import { restoreStore } from '../../src/store/backup.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';

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
  more: Pick<OpenOptions, 'logArchive'> = {},
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
