import avsc from 'avsc';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Avro,
  Columns,
  declarationOn,
  defineEntity,
  defineTable,
  Entity,
  formerly,
  part,
  RowKey,
  recordType,
  salt,
  Table,
  upgrade,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import { concatBytes } from '../../src/bytes/index.js';
import {
  type AvroFields,
  type AvroSchema,
  avro,
  avroCodec,
  avroSchemaOf,
  fingerprintOf,
  int32,
  TableSchemaStore,
  text,
} from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { SchemaError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { EntityOf } from '../../src/schema/entity-types.js';
import type { EntityClass } from '../../src/schema/types.js';
import { Put } from '../../src/table/index.js';
import { openTestStore, type TestStore } from '../query/test-database.js';

class Line {
  sku!: string;
  price!: string;
  photo!: Uint8Array | null;
  get label(): string {
    return `${this.sku} at ${this.price}`;
  }
}

class Cart {
  number!: number;
  at!: Date;
  lines!: Line[];
}

const line = avro.record('Line', {
  sku: avro.string,
  price: avro.decimal(9, 2),
  photo: avro.optional(avro.bytes),
});
const cart = avro.record('Cart', { number: avro.int, at: avro.timestampMillis, lines: avro.array(line) });

@Table({ name: 'carts', families: { d: {}, h: { versions: 5 } } })
class Carts {}

@Entity({ table: Carts })
@RowKey(part('id'))
class Holder {
  declare static readonly key: ['id'];
  id!: string;
  @Avro('d:c', cart, { classes: { Cart, Line } }) cart!: Cart;
  @Avro('d:w', avro.string) word?: string | null;
  @Columns('d:x.', { value: avroCodec(avro.record('Extra', { n: avro.int })) }) extras?: Map<
    string,
    { n: number } | null
  >;
  @Versions('h:v', avroCodec(avro.record('Old', { n: avro.int }))) old?: Versioned<{ n: number }>[] | null;
}

let store: TestStore;
let db: Database;

const openWith = (...entities: EntityClass[]): Promise<Database> => store.open(...entities);

beforeEach(async () => {
  store = openTestStore();
  db = await openWith(Holder);
});
afterEach(async () => {
  await db.close();
  await store.dispose();
});

const someCart = (): Cart =>
  Object.assign(new Cart(), {
    number: 7,
    at: new Date(1000),
    lines: [Object.assign(new Line(), { sku: 'a', price: '1.50', photo: Uint8Array.of(1, 2) })],
  });

describe('@Avro', () => {
  test('stores records and gives instances back, nested ones too', async () => {
    const holders = db.repository(Holder);
    await holders.put({ id: 'a', cart: someCart(), extras: new Map([['k', { n: 1 }]]) });
    await db.close();
    db = await openWith(Holder);
    const found = await db.repository(Holder).get({ id: 'a' });
    expect(found?.cart).toBeInstanceOf(Cart);
    expect(found?.cart).toEqual(someCart());
    expect(found?.cart.lines[0]).toBeInstanceOf(Line);
    expect(found?.cart.lines[0]?.label).toBe('a at 1.50');
    expect(found?.extras).toEqual(new Map([['k', { n: 1 }]]));
    expect((await db.repository(Holder).find({}, { fullScan: true }).all())[0]?.cart).toEqual(someCart());
  });

  test('names entity and property where a value does not fit', async () => {
    const wrong = { ...someCart(), number: 1.5 };
    await expect(db.repository(Holder).put({ id: 'a', cart: wrong })).rejects.toMatchObject({
      code: 'ERR_CODEC',
      message: expect.stringMatching(/Holder.*cart.*number is 1\.5/s),
    });
  });

  test('can be asked whether it is there, and nothing else', async () => {
    const holders = db.repository(Holder);
    await holders.put({ id: 'a', cart: someCart() });
    const query = holders.find({}, { fullScan: true });
    expect(await query.where({ word: { exists: true } }).count()).toBe(0);
    expect(await query.where({ word: null }).count()).toBe(1);
    for (const condition of [{ word: 'x' }, { word: { in: ['x'] } }, { word: { startsWith: 'x' } }]) {
      await expect(query.where(condition).all()).rejects.toThrowError(/word holds Avro/);
    }
    expect(() => query.where({ cart: someCart() } as never)).toThrowError(/cannot be compared/);
  });

  test('works as a standard decorator', () => {
    const metadata = {};
    const context = { kind: 'field', name: 'c', static: false, private: false, metadata };
    Avro('d:c', avro.string)(undefined, context as never);
    expect(declarationOn(metadata).properties).toMatchObject([
      { kind: 'avro', decorator: 'Avro', property: 'c', column: 'd:c' },
    ]);
  });

  test('defineEntity infers the type', async () => {
    const Defined = defineEntity({
      name: 'Defined',
      table: defineTable({ name: 'defined', families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({
        cart: c.avro('d:c', cart),
        any: c
          .avro<{ n: number }>('d:a', avroSchemaOf('Any', { n: avro.int }), { compatibility: 'full' })
          .optional(),
      }),
    });
    const given: EntityOf<typeof Defined>['cart'] = {
      number: 1,
      at: new Date(5),
      lines: [{ sku: 's', price: '2.00', photo: null }],
    };
    await db.close();
    db = await openWith(Defined);
    await db.repository(Defined).put({ id: 'a', cart: given, any: { n: 3 } });
    expect(await db.repository(Defined).get({ id: 'a' })).toMatchObject({ cart: given, any: { n: 3 } });
  });

  test('reports wrong schemas with all other problems', () => {
    @Entity({ table: Carts })
    @RowKey(part('id'))
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
      @Avro('d:a', { type: 'rekord' } as AvroSchema) a?: unknown;
      @Avro('d:b', avro.string, { compatibility: 'all' as never }) b?: string;
      @Avro('d:c', line, { classes: { Lime: Line } }) c?: Line;
    }
    let error: unknown;
    try {
      compileSchema([Wrong]);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(SchemaError);
    expect((error as SchemaError).problems).toEqual([
      expect.stringMatching(/^Wrong\.a: .*rekord/),
      expect.stringMatching(/^Wrong\.b: "all" is not a compatibility level/),
      expect.stringMatching(/^Wrong\.c: .*no record named Lime/),
    ]);
  });
});

/** A program of its own: an entity class with this schema in `d:o` of the table `orders`. */
function program(
  fields: AvroFields,
  compatibility?: 'none' | 'backward' | 'forward' | 'full',
  more: AvroFields = { n: avro.int },
): EntityClass<{ id: string; order: unknown; other?: unknown }> & { readonly key: ['id'] } {
  return defineEntity({
    name: 'Order',
    table: defineTable({ name: 'orders', families: { d: {} } }),
    recordType: 3,
    key: [part('id'), recordType()],
    columns: (c) => ({
      order: c.avro<unknown>('d:o', avroSchemaOf('Order', fields), compatibility && { compatibility }),
      other: c.avro<unknown>('d:p', avroSchemaOf('Other', more)).optional(),
    }),
  }) as never;
}

describe('the schemas of a database', () => {
  const withNote = { no: avro.int, note: avro.optional(avro.string) };

  async function reopenWith(target: ReturnType<typeof program>): Promise<Repository<typeof target>> {
    await db.close();
    db = await openWith(target);
    return db.repository(target);
  }

  test('are registered when it is opened, and older values read by newer schemas', async () => {
    const first = await reopenWith(program({ no: avro.int }));
    await first.put({ id: 'a', order: { no: 1 } });
    const second = await reopenWith(program(withNote));
    await second.put({ id: 'b', order: { no: 2, note: 'n' } });
    expect((await second.getMany([{ id: 'a' }, { id: 'b' }])).map((one) => one?.order)).toEqual([
      { no: 1, note: null },
      { no: 2, note: 'n' },
    ]);
    const store = new TableSchemaStore(db.engine.table('rowan_schemas'));
    expect(await store.versions('orders#3/d:o')).toHaveLength(2);
    await reopenWith(program(withNote));
    const after = new TableSchemaStore(db.engine.table('rowan_schemas'));
    expect(await after.versions('orders#3/d:o')).toHaveLength(2);
  });

  test('refuse what does not fit, every incompatibility of every column at once, and register nothing', async () => {
    await reopenWith(program({ no: avro.int }));
    const versions = await new TableSchemaStore(db.engine.table('rowan_schemas')).versions('orders#3/d:p');
    await db.close();
    const wrong = program({ no: avro.string, added: avro.int }, undefined, { n: avro.boolean });
    const error = await openWith(wrong).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaError);
    expect((error as SchemaError).problems).toEqual([
      expect.stringMatching(
        /^orders#3\/d:o \(backward\): backward to [0-9a-f]{16} at Order\.no: int was written/,
      ),
      expect.stringMatching(/^orders#3\/d:o \(backward\): .* at Order\.added: it was not written/),
      expect.stringMatching(/^orders#3\/d:p \(backward\): .* at Other\.n: int was written/),
    ]);
    db = await openWith(program({ no: avro.int }));
    expect(await new TableSchemaStore(db.engine.table('rowan_schemas')).versions('orders#3/d:p')).toEqual(
      versions,
    );
  });

  test('are held to the level that is declared', async () => {
    await reopenWith(program(withNote));
    await db.close();
    await expect(openWith(program({ ...withNote, more: avro.int }, 'full'))).rejects.toThrowError(
      /\(full\): backward to/,
    );
    // Programs that have the old schema find no "no" in new values.
    await expect(openWith(program({ note: withNote.note }, 'forward'))).rejects.toThrowError(
      /\(forward\): forward to .* Order\.no/,
    );
    db = await openWith(program({ no: avro.string }, 'none'));
  });

  let unique = 0;
  /** Writes as a program in another process does: its schema is in the store, and not known here. */
  async function writeElsewhere(id: string): Promise<void> {
    const schema = avroSchemaOf('Order', { no: avro.int, [`x${unique++}`]: avro.withDefault(avro.int, 9) });
    const fingerprint = fingerprintOf(schema);
    const store = new TableSchemaStore(db.engine.table('rowan_schemas'));
    await store.add('orders#3/d:o', Buffer.from(fingerprint).toString('hex'), JSON.stringify(schema));
    const body = avsc.Type.forSchema(schema as never).toBuffer({ no: 5, [`x${unique - 1}`]: 1 });
    const value = concatBytes(Uint8Array.of(0xc3, 0x01), fingerprint, body);
    const row = db.schema.entities[0]!.key.encode({ id });
    await db.engine
      .table('orders')
      .put(new Put(row).addColumn('d', '_', Uint8Array.of(1)).addColumn('d', 'o', value));
  }

  test('that another program registered meanwhile are loaded by the read that meets them', async () => {
    const orders = await reopenWith(program(withNote));
    await orders.put({ id: 'a', order: { no: 0, note: 'own' } });
    const expected = { no: 5, note: null };
    await writeElsewhere('get');
    expect((await orders.get({ id: 'get' }))?.order).toEqual(expected);
    await writeElsewhere('many');
    const many = await orders.getMany([{ id: 'a' }, { id: 'many' }]);
    expect(many.map((one) => one?.order)).toEqual([{ no: 0, note: 'own' }, expected]);
    await writeElsewhere('all1');
    await writeElsewhere('all2');
    const found = await orders.find({}, { fullScan: true }).all();
    expect(found.map((one) => one.id)).toEqual(['a', 'all1', 'all2', 'get', 'many']);
    expect(found[2]?.order).toEqual(expected);
    await writeElsewhere('stream');
    const streamed: string[] = [];
    for await (const one of orders.find({}, { fullScan: true })) streamed.push(one.id);
    expect(streamed).toEqual(['a', 'all1', 'all2', 'get', 'many', 'stream']);
    await writeElsewhere('page');
    const page = await orders.find({ id: 'page' }).page({ size: 2 });
    expect(page.items[0]?.order).toEqual(expected);
    await writeElsewhere('select');
    expect((await orders.find({ id: 'select' }).select('order').first())?.order).toEqual(expected);
    await writeElsewhere('history');
    expect((await orders.history({ id: 'history' }, 'order')).map(({ value }) => value)).toEqual([expected]);
    await writeElsewhere('batch');
    const [outcome] = await orders.batch((batch) => batch.get({ id: 'batch' }));
    expect(outcome).toMatchObject({ ok: true, value: { order: expected } });
    await writeElsewhere('signal');
    const signal = new AbortController().signal;
    expect((await orders.get({ id: 'signal' }, { signal }))?.order).toEqual(expected);
  });

  const orderType = avroSchemaOf('Order', withNote);
  const numberOf = (order: unknown) => (order as { no: number }).no;

  test('of values that upgrades and moves read are loaded by the opening, also where no column holds Avro now', async () => {
    const upgraded = defineEntity({
      name: 'Order',
      table: defineTable({ name: 'orders', families: { d: {} } }),
      recordType: 3,
      schemaVersion: 2,
      key: [part('id'), recordType()],
      columns: (c) => ({ no: c.column('d:n', int32) }),
      upgrades: [
        upgrade(
          1,
          { old: (c) => ({ order: c.avro<unknown>('d:o', orderType) }), sets: ['no'] },
          ({ order }) => ({
            no: numberOf(order),
          }),
        ),
      ],
    });
    const moved = defineEntity({
      name: 'Order',
      table: defineTable({ name: 'orders', families: { d: {} } }),
      recordType: 3,
      key: [part('id'), recordType()],
      columns: (c) => ({
        no: c.column('d:n', int32, { was: [formerly('d:o', avroCodec(orderType), numberOf)] }),
      }),
    });
    for (const target of [upgraded, moved]) {
      await db.close();
      await store.dispose();
      store = openTestStore();
      db = await openWith(program(withNote));
      await writeElsewhere('a');
      await db.close();
      db = await openWith(target);
      expect(await db.repository(target).find({}, { fullScan: true }).all()).toMatchObject([{ no: 5 }]);
      await db.repository(target).update({ id: 'a' }, { no: 6 });
      expect(await db.repository(target).get({ id: 'a' })).toMatchObject({ no: 6 });
    }
  });

  /** Orders with another key, or another column. */
  const heir = (fields: AvroFields, key: 'id' | 'salted', ...was: 'd:o'[]) =>
    defineEntity({
      name: key === 'id' ? 'Order' : 'Salted',
      table: defineTable({ name: key === 'id' ? 'orders' : 'salted', families: { d: {} } }),
      recordType: 3,
      key: key === 'id' ? [part('id'), recordType()] : [salt(2), part('id'), recordType()],
      columns: (c) => ({
        order: c.avro<unknown>(
          key === 'id' ? 'd:q' : 'd:o',
          avroSchemaOf('Order', fields),
          was.length > 0 ? { was } : {},
        ),
        ...(key === 'id'
          ? {}
          : { other: c.avro<unknown>('d:p', avroSchemaOf('Other', { n: avro.int })).optional() }),
      }),
    });

  test('go along with values that are moved unchanged', async () => {
    await reopenWith(program(withNote));
    await writeElsewhere('a');
    await db.close();
    await expect(openWith(heir({ no: avro.string }, 'id', 'd:o'))).rejects.toThrow('int was written');
    const moved = heir(withNote, 'id', 'd:o');
    db = await openWith(moved);
    await db.schema.moveColumns(moved);
    await db.schema.apply();
    await db.close();
    await expect(openWith(heir({ no: avro.string }, 'id'))).rejects.toThrow('int was written');
    db = await openWith(heir(withNote, 'id'));
    expect(
      await new TableSchemaStore(db.engine.table('rowan_schemas')).versions('orders#3/d:q'),
    ).toHaveLength(2);
  });

  test('go along with rows whose keys are changed', async () => {
    const old = program(withNote);
    await reopenWith(old);
    await writeElsewhere('a');
    await db.close();
    const salted = heir(withNote, 'salted');
    db = await openWith(old, salted);
    await db.rekey(old, salted).run();
    await db.rekey(old, salted).cutOver();
    await db.rekey(old, salted).cleanup();
    await db.close();
    await expect(openWith(heir({ no: avro.string }, 'salted'))).rejects.toThrow('int was written');
    db = await openWith(salted);
    expect(await db.repository(salted).get({ id: 'a' })).toMatchObject({ order: { no: 5, note: null } });
  });

  test('that nobody registered are named', async () => {
    const orders = await reopenWith(program(withNote));
    const value = concatBytes(Uint8Array.of(0xc3, 0x01), new Uint8Array(8).fill(7), Uint8Array.of(2));
    const row = db.schema.entities[0]!.key.encode({ id: 'a' });
    await db.engine.table('orders').put(new Put(row).addColumn('d', 'o', value));
    await expect(orders.get({ id: 'a' })).rejects.toMatchObject({
      code: 'ERR_SCHEMA',
      message: expect.stringContaining('0707070707070707'),
    });
  });

  test('keep a table that is made only where a column holds Avro', async () => {
    expect(await db.admin.tableExists('rowan_schemas')).toBe(true);
    await db.close();
    await store.dispose();
    store = openTestStore();
    const Plain = defineEntity({
      name: 'Plain',
      table: defineTable({ name: 'plain', families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ text: c.column('d:t', text) }),
    });
    db = await openWith(Plain);
    expect(await db.admin.tableExists('plain')).toBe(true);
    expect(await db.admin.tableExists('rowan_schemas')).toBe(false);
  });
});
