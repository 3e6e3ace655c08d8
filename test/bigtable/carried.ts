/** A table with every kind of column that is copied from an engine to Bigtable, and read and counted on there. */

import { expect } from 'vitest';
import {
  Avro,
  Column,
  Columns,
  Counter,
  defineTable,
  Embedded,
  Entity,
  Json,
  part,
  RowKey,
  reverseTimestamp,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import {
  avro,
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  enumeration,
  float64,
  int64,
  schemaTableDescriptor,
  text,
  uint32,
  uuid,
} from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Engine } from '../../src/table/index.js';
import { copyTable } from '../../src/tools/copy.js';
import { verifyTables } from '../../src/tools/verify.js';

const ROWS = 40;
const TABLE = 'carried';

const table = defineTable({ name: TABLE, families: { d: {}, h: { versions: 3 } } });

class Address {
  @Column('city', text) city!: string;
  @Column('since', date) since?: Date | null;
}

@Entity({ table })
@RowKey(part('id', int64), reverseTimestamp('at'))
class Carried {
  declare static readonly key: ['id', 'at'];
  id!: bigint;
  at!: Date;
  @Column('d:text', text) text!: string;
  @Column('d:double', float64) double!: number;
  @Column('d:boolean', boolean) boolean!: boolean;
  @Column('d:date', date) date!: Date;
  @Column('d:int64', int64) int64!: bigint;
  @Column('d:bigint', bigint) bigint!: bigint;
  @Column('d:bytes', bytes) bytes!: Uint8Array;
  @Column('d:decimal', decimal(2)) decimal!: string;
  @Column('d:uuid', uuid) uuid!: string;
  @Column('d:enum', enumeration({ open: 1, shipped: 2 })) status!: 'open' | 'shipped';
  @Json('d:json') json?: unknown;
  @Avro('d:avro', avro.record('R', { at: avro.timestampMillis, n: avro.bigLong, b: avro.bytes }))
  avro!: { at: Date; n: bigint; b: Uint8Array };
  @Counter('d:count') count?: bigint;
  @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
  @Columns('d:m.', { key: date, value: uint32 }) map!: Map<Date, number | null>;
  @Versions('h:v', int64) history!: Versioned<bigint>[];
}

const keyOf = (i: number) => ({ id: BigInt(i) - 20n, at: new Date(1_700_000_000_000 + i) });

function carried(i: number) {
  return {
    ...keyOf(i),
    text: ['', 'ä', 'z\0'][i % 3]!,
    double: [0, -1.5, Number.POSITIVE_INFINITY][i % 3]!,
    boolean: i % 2 === 0,
    date: new Date(i - 5),
    int64: -(2n ** 63n) + BigInt(i),
    bigint: 2n ** 90n * BigInt(i - 20),
    bytes: Uint8Array.of(0, i, 255),
    decimal: `${i}.25`,
    uuid: `00000000-0000-4000-8000-0000000000${String(i).padStart(2, '0')}`,
    status: i % 2 === 0 ? ('open' as const) : ('shipped' as const),
    json: { a: [i, 'x', null] },
    avro: { at: new Date(i), n: BigInt(i), b: Uint8Array.of(i) },
    address: i % 3 === 0 ? { city: 'Köln', since: new Date(i) } : undefined,
    map: new Map([[new Date(i), i]]),
    history: [3, 2, 1].map((timestamp) => ({ value: BigInt(i * timestamp), timestamp })),
  };
}

async function all(db: Database): Promise<object[]> {
  return db.repository(Carried).find({}, { fullScan: true }).all();
}

/**
 * Fills a table by `from`, changes some of it, copies it and compares: tables, entities, and what counters count on.
 * The table is not removed.
 */
export async function carryOver(from: Engine, to: Engine): Promise<void> {
  const here = new Database(compileSchema([Carried]), from, 'create');
  await here.ready();
  const rows = here.repository(Carried);
  await rows.putMany(Array.from({ length: ROWS }, (_, i) => carried(i)) as never);
  for (let i = 0; i < ROWS; i += 3) await rows.increment(keyOf(i), { count: 2n ** 40n });
  for (let i = 0; i < ROWS; i += 7) await rows.update(keyOf(i), { json: null, text: 'changed' });
  await rows.delete(keyOf(1));
  // Avro values are read by the schemas that they were written with.
  for (const name of [schemaTableDescriptor().name, TABLE])
    await copyTable({ engine: from, table: name }, { engine: to, table: name }, { create: true });
  const { counters } = await verifyTables({ engine: from, table: TABLE }, { engine: to, table: TABLE });
  expect(counters).toEqual({ rows: ROWS - 1, equal: ROWS - 1 });
  const there = new Database(compileSchema([Carried]), to, 'verify');
  await there.ready();
  const found = await all(there);
  expect(found).toHaveLength(ROWS - 1);
  expect(found).toEqual(await all(here));
  const counted = await there.repository(Carried).increment(keyOf(3), { count: 1n });
  expect(counted).toMatchObject({ count: 2n ** 40n + 1n });
}
