/** A property has one codec: in its column, in a digest of the key, in an index and in a summary. */

import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import {
  Column,
  defineEntity,
  defineTable,
  Entity,
  hash,
  Index,
  part,
  RowKey,
  substitute,
} from '../../decorators/index.js';
import * as codecs from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { SchemaError } from '../../src/errors.js';
import type { KeyCodec, KeyElement } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import { openMemory } from '../../src/testing/index.js';

const { fixedString, text, uint32, uint8 } = codecs;

const databases: Database[] = [];
const openOf = async (...entities: EntityClass[]): Promise<Database> => {
  const database = await openMemory({ entities });
  databases.push(database);
  return database;
};
afterAll(async () => {
  for (const database of databases) await database.close();
});

const md5 = (bytes: Uint8Array | string): string => createHash('md5').update(bytes).digest('hex');
const table = (name: string) => defineTable({ name, families: { d: {} } });
let tables = 0;

type Codec = codecs.ValueCodec<never>;

/** An entity whose key is a digest of its columns alone. */
const digested = (of: readonly KeyElement[], columns: Readonly<Record<string, Codec>>): EntityClass => {
  class Digested {}
  Entity({ table: table(`t${tables++}`) })(Digested);
  RowKey(...of)(Digested as never);
  for (const [name, codec] of Object.entries(columns)) {
    Column(`d:${name}`, codec)(Digested.prototype as never, name as never);
  }
  return Digested;
};
const rowOf = (entity: EntityClass, values: Readonly<Record<string, unknown>>): string =>
  Buffer.from(compileSchema([entity]).entity(entity).key.encode(values)).toString('hex');

describe('a digest', () => {
  it('of parts of fixed length is that of their bytes alone, by the codecs of the columns or of part(...)', () => {
    const values = { from: 'CTU', to: 'PEK', day: '20190821' };
    const columns = { from: fixedString(3), to: fixedString(3), day: fixedString(8) } as never;
    expect(rowOf(digested([hash(['from', 'to', 'day'])], columns), values)).toBe(md5('CTUPEK20190821'));
    const given = hash([part('from', fixedString(3)), part('to', fixedString(3)), 'day']);
    const texts = { from: text, to: text, day: text } as never;
    expect(rowOf(digested([given], texts), values)).toBe(md5('CTUPEK20190821'));
    expect(rowOf(digested([hash(['from', 'to', 'day'])], texts), values)).toBe(
      md5('CTU\0\x01PEK\0\x0120190821'),
    );
  });

  it('of two numbers is written and found', async () => {
    const Pair = defineEntity({
      name: 'Pair',
      table: table('pairs'),
      key: [hash(['a', 'b'])],
      columns: (c) => ({ a: c.column('d:a', uint32), b: c.column('d:b', uint32) }),
    });
    const pairs = (await openOf(Pair)).repository(Pair);
    await pairs.put({ a: 1, b: 2 });
    expect(await pairs.get({ a: 1, b: 2 })).toMatchObject({ a: 1, b: 2 });
    expect(await pairs.get({ a: 2, b: 1 })).toBeNull();
    expect(await pairs.find({ a: 1, b: 2 }).all()).toHaveLength(1);
  });

  it('of a property that no key can hold is refused when the schema is compiled', () => {
    const compile = () => compileSchema([digested([hash('list')], { list: codecs.json() as never })]);
    expect(compile).toThrow(SchemaError);
    expect(compile).toThrow(/"list".*no codec/);
  });

  it('kept beside the property goes with dictionaries of other parts', async () => {
    const Seen = defineEntity({
      name: 'Seen',
      table: table('seen'),
      key: [substitute('host', 'hosts'), hash(part('id', uint32), { keep: true, bytes: 2 })],
      columns: (c) => ({ note: c.column('d:n', text).optional() }),
    });
    const seen = (await openOf(Seen)).repository(Seen);
    await seen.put({ host: 'h1', id: 7, note: 'x' });
    expect(await seen.get({ host: 'h1', id: 7 })).toMatchObject({ host: 'h1', id: 7, note: 'x' });
    expect(await seen.find({ host: 'h1' }).all()).toHaveLength(1);
  });
});

describe('every codec of columns', () => {
  const samples = [
    [codecs.text, 'a', 'b'],
    [codecs.bytes, Uint8Array.of(1), Uint8Array.of(0, 2)],
    [codecs.int8, -1, 1],
    [codecs.int16, -1, 1],
    [codecs.int32, -1, 1],
    [codecs.uint8, 0, 1],
    [codecs.uint16, 0, 1],
    [codecs.uint32, 0, 1],
    [codecs.int53, -1, 1],
    [codecs.int64, -1n, 1n],
    [codecs.uint64, 0n, 1n],
    [codecs.float64, -1.5, 1.5],
    [codecs.float32, -1.5, 1.5],
    [codecs.decimal(2), '-1.50', '12.50'],
    [codecs.bigint, -1n, 2n ** 70n],
    [codecs.date, new Date(0), new Date(1)],
    [codecs.boolean, false, true],
    [codecs.uuid, '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'],
    [codecs.ksuid, '0ujtsYcgvSTl8PAuAdqWYSMnLOv', '0ujtsYcgvSTl8PAuAdqWYSMnLOw'],
    [codecs.ipv4, '192.0.2.1', '192.0.2.2'],
    [codecs.ipv6, '2001:db8::1', '2001:db8::2'],
    [codecs.cidr, '10.0.0.0/8', '2001:db8::/32'],
    [codecs.numericEnum({ low: 1, high: 2 }), 1, 2],
    [codecs.enumeration({ open: 1, shipped: 2 }), 'open', 'shipped'],
    [codecs.fixedString(3), 'ab', 'abc'],
    [codecs.fixedBytes(2), Uint8Array.of(1, 2), Uint8Array.of(2, 1)],
    [codecs.textNumber(4), 1, 2],
  ] as const;

  it.each(samples.map(([codec, ...values]) => [codec.name, codec, ...values] as const))(
    '%s',
    async (_, given, one, other) => {
      const codec = given as never as Codec & KeyCodec<never>;
      const Both = digested([hash('value')], { value: codec, n: uint8 as never });
      Index('byValue', [part('value')])(Both as never, undefined);
      const rows = (await openOf(Both)).repository(Both as never) as never as {
        put(row: object): Promise<void>;
        get(key: object): Promise<object | undefined>;
        find(key: object): { where(of: object): { all(): Promise<object[]> } };
      };
      for (const [n, value] of [one, other].entries()) {
        expect(rowOf(Both, { value })).toBe(md5(codec.encode(value as never)));
        await rows.put({ value, n });
        expect(await rows.get({ value })).toEqual({ value, n });
        expect(await rows.find({}).where({ value }).all()).toEqual([{ value, n }]);
      }
      const { indexes } = compileSchema([Both]).entity(Both);
      expect(indexes[0]!.layout.parts[0]!.codec.name).toBe(codec.name);
    },
  );
});
