/** Tables that are made when a database is opened: several at a time, and none where a declaration contradicts one that exists. */

import { expect, it } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text, uint32 } from '../../src/codec/index.js';
import { ensureTables } from '../../src/ddl/ensure-tables.js';
import { RowanError } from '../../src/errors.js';
import type { EntityClass } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Admin } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

const thing = (table: string, families: readonly string[] = ['d']): EntityClass =>
  defineEntity({
    name: `Thing of ${table}`,
    table: defineTable({ name: table, families: Object.fromEntries(families.map((name) => [name, {}])) }),
    key: [part('id', uint32)],
    columns: (c) => ({ name: c.column(`${families[0]!}:n`, text) }),
  });

const NAMES = Array.from({ length: 40 }, (_, i) => `many:t${String(i).padStart(2, '0')}`);

const tablesOf = (entities: readonly EntityClass[]) => compileSchema(entities).tables;

/** An admin that counts the tables that are being made, and refuses one of them. */
function watched(admin: Admin, refused?: string) {
  const counts = { now: 0, most: 0, begun: 0 };
  const proxy = new Proxy(admin, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'createTable') return value.bind(target) as unknown;
      return async (...args: Parameters<Admin['createTable']>) => {
        counts.begun++;
        counts.most = Math.max(counts.most, ++counts.now);
        try {
          await new Promise((resolve) => setImmediate(resolve));
          if (args[0].name === refused) throw new RowanError('ERR_IO', `Not "${refused}".`);
          await target.createTable(...args);
        } finally {
          counts.now--;
        }
      };
    },
  });
  return { admin: proxy, counts };
}

it('makes several tables at a time, each once, and names them in the order of their declarations', async () => {
  await using engine = await openEmbedded('/db', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  const { admin, counts } = watched(engine.admin);
  const tables = tablesOf(NAMES.map((name) => thing(name)));
  const ensured = await ensureTables(admin, tables);
  expect(ensured.created).toEqual(tables.map(({ descriptor }) => descriptor.name));
  expect(counts).toEqual({ now: 0, most: 16, begun: NAMES.length });
  expect((await engine.admin.listTables()).length).toBe(NAMES.length);
  expect(await ensureTables(admin, tables)).toEqual({ created: [], stamped: [], differences: [] });
});

it('rejects with the failure of one table, when no other is being made', async () => {
  await using engine = await openEmbedded('/db', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  const { admin, counts } = watched(engine.admin, NAMES[3]);
  const tables = tablesOf(NAMES.map((name) => thing(name)));
  await expect(ensureTables(admin, tables)).rejects.toMatchObject({ code: 'ERR_IO' });
  expect(counts.now).toBe(0);
  expect(counts.begun).toBeLessThan(NAMES.length);
  expect((await ensureTables(engine.admin, tables)).created).toContain(NAMES[3]);
});

it('makes none where a table that exists contradicts its declaration', async () => {
  await using engine = await openEmbedded('/db', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  await ensureTables(engine.admin, tablesOf([thing('a', ['d'])]));
  const tables = tablesOf([thing('b'), thing('a', ['e']), thing('c')]);
  await expect(ensureTables(engine.admin, tables)).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
  expect(await engine.admin.tableExists('b')).toBe(false);
});
