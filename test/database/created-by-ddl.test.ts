/** Databases whose tables were made by the statements of `rowan ddl`: which of their indexes can be asked, and when. */

import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { creatableTables } from '../../src/ddl/index.js';
import { systemTables } from '../../src/features/tables.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';

@Table({ name: 'made', families: { d: {} } })
class Made {}

@Entity({ table: Made })
@RowKey(part('id'))
@Index('byCode', [part('code')], { unique: true })
@Index('byState', [part('state')])
class Order {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byCode: ['code']; byState: ['state'] };
  id!: string;
  @Column('d:c', text) code?: string | null;
  @Column('d:s', text) state!: string;
}

/** The same rows, by a program that knows nothing of the indexes. */
@Entity({ table: Made, name: 'Order' })
@RowKey(part('id'))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:c', text) code?: string | null;
  @Column('d:s', text) state!: string;
}

const schema = compileSchema([Order]);

/** What the statements do, for the tables of these names. */
async function makeTables(engine: Engine, names?: readonly string[]): Promise<void> {
  const all = [...schema.tables, ...systemTables(schema)];
  const chosen = all.filter(({ descriptor }) => names?.includes(descriptor.name) ?? true);
  for (const { descriptor, splitKeys } of creatableTables(chosen, schema.tables))
    await engine.admin.createTable(descriptor, splitKeys);
}

const ENGINES: Readonly<Record<string, (engine: Engine) => Engine>> = {
  embedded: (engine) => engine,
  'without steps': stepless,
};

async function store(name: string): Promise<Engine> {
  const engine = await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  return ENGINES[name]!(engine);
}

/** A program of its own on the store; the store stays open. */
async function program(engine: Engine, handling: 'verify' | 'create', entity: typeof Order | typeof Plain) {
  const db = new Database(compileSchema([entity]), engine, handling);
  await db.ready();
  return db;
}

const find = (db: Database) => db.repository(Order).by('byState').find({ state: 'open' }).all();

test.each(Object.keys(ENGINES))(
  '%s: indexes of empty tables can be asked at once, and ever after',
  async (name) => {
    for (const handling of ['verify', 'create'] as const) {
      const engine = await store(name);
      await makeTables(engine);
      const first = await program(engine, handling, Order);
      const beside = await program(engine, 'verify', Order);
      expect(await find(first)).toEqual([]);
      await first.repository(Order).put({ id: 'a', state: 'open', code: 'c1' });
      const later = await program(engine, 'verify', Order);
      await later.repository(Order).put({ id: 'b', state: 'open', code: null });
      for (const db of [first, beside, later, await program(engine, 'create', Order)]) {
        expect((await find(db)).map(({ id }) => id)).toEqual(['a', 'b']);
        expect(await db.repository(Order).by('byCode').find({ code: 'c1' }).all()).toMatchObject([
          { id: 'a' },
        ]);
      }
      for (const index of ['byCode', 'byState'] as const)
        expect(await later.index(Order, index).verify()).toMatchObject({ extra: 0, missing: 0, stale: 0 });
      await expect(program(engine, 'verify', Plain)).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
      await engine.close();
    }
  },
);

test.each(Object.keys(ENGINES))(
  '%s: an index table that comes to rows that there are is built',
  async (name) => {
    const engine = await store(name);
    await makeTables(engine, ['made']);
    const plain = await program(engine, 'verify', Plain);
    await plain.repository(Plain).put({ id: 'a', state: 'open' });
    await makeTables(
      engine,
      systemTables(schema).map(({ descriptor }) => descriptor.name),
    );
    const db = await program(engine, 'verify', Order);
    await expect(find(db)).rejects.toThrow(/The index "byState" of Order/);
    await db.repository(Order).put({ id: 'b', state: 'open' });
    await db.index(Order, 'byState').build();
    expect(await find(db)).toHaveLength(2);
    expect(await find(await program(engine, 'verify', Order))).toHaveLength(2);

    // Made again, it says nothing of the rows.
    await engine.admin.disableTable('made_idx');
    await engine.admin.deleteTable('made_idx');
    await makeTables(engine, ['made_idx']);
    await expect(find(await program(engine, 'verify', Order))).rejects.toThrow(
      /The index "byState" of Order/,
    );
    await engine.close();
  },
);
