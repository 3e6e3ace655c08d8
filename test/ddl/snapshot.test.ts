/** Declarations against a snapshot: whatever is declared otherwise is told. */

import { expect, test } from 'vitest';
import {
  Column,
  Denormalized,
  Entity,
  Index,
  literal,
  part,
  Reference,
  Required,
  RowKey,
  recordType,
  Summary,
  UpdatedAt,
} from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import {
  checkSnapshot,
  describeSnapshotDifferences,
  type SnapshotPlan,
  snapshotOf,
} from '../../src/ddl/index.js';
import { systemTables } from '../../src/features/tables.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';

/** What the declarations have; each may be left out. */
const ALL = [
  'configuration',
  'metadata',
  'presplit',
  'family',
  'column',
  'required',
  'unique',
  'index',
  'condition',
  'eventual',
  'summary',
  'figure',
  'copy',
  'copied field',
  'relation',
  'cascade',
  'time to live',
  'updatedAt',
  'entity',
  'record type',
  'retired entity',
  'table',
] as const;
type Part = (typeof ALL)[number];

/** What releases before format 2 kept nothing of. */
const ONLY_IN_2: ReadonlySet<Part> = new Set<Part>([
  'required',
  'unique',
  'index',
  'condition',
  'eventual',
  'summary',
  'figure',
  'copy',
  'copied field',
  'relation',
  'cascade',
  'time to live',
  'updatedAt',
  'retired entity',
]);

const nothing = (() => undefined) as never;
/** A decorator of a class whose static types are not looked at. */
const loose = (decorator: unknown) => decorator as (target: EntityClass) => void;

function declare(without?: Part): EntityClass[] {
  const has = (part: Part): boolean => part !== without;
  const where = <D>(part: Part, decorator: D): D => (has(part) ? decorator : nothing);
  const shop = {
    name: 'shop',
    families: {
      d: has('configuration') ? { configuration: { 'hbase.x': '1' } } : {},
      ...(has('family') && { e: {} }),
    },
    ...(has('metadata') && { metadata: { owner: 'me' } }),
    ...(has('presplit') && { presplit: { splits: [Buffer.from('m')] } }),
  } as { name: string; families: { d: object; e: object } };

  @Entity({ table: { name: 'customers', families: { d: {} } } })
  @RowKey(part('id'))
  class Customer {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:n', text) name!: string;
    @Column('d:c', text) city?: string | null;
  }

  @Entity({ table: shop, recordType: 1, ...(has('time to live') && { ttl: 1e9 }) })
  @RowKey(part('id'), recordType())
  @loose(where('index', Index('byNote', [part('note', text)])))
  @loose(
    Index('byState', [part('state', text)], {
      unique: has('unique'),
      ...(has('condition') && { where: { note: 'x' } }),
    }),
  )
  @loose(
    Index('byCustomer', [part('customerId', text)], {
      ...(has('eventual') && { consistency: 'eventual' as const }),
    }),
  )
  @loose(where('summary', Summary('states', { by: ['state'], figures: { orders: 'count' } })))
  @loose(
    Summary('notes', {
      by: ['note'],
      figures: { orders: 'count', ...(has('figure') && { noted: { count: 'state' } }) },
    } as never),
  )
  @where(
    'copy',
    Denormalized(() => Customer, {
      via: 'customerId',
      fields: { name: 'name', ...(has('copied field') && { city: 'city' }) },
    }),
  )
  class Order {
    declare static readonly key: ['id'];
    id!: string;
    @Required() @Column('d:s', text) state!: string;
    @where('required', Required()) @Column('d:o', text) note!: string;
    @Column('d:c', text) customerId?: string | null;
    @Column('d:m', text) name?: string | null;
    @Column('d:i', text) city?: string | null;
    @where('column', Column('d:l', text)) last?: string | null;
    @(has('updatedAt') ? UpdatedAt('d:u') : Column('d:u', text)) changed?: never;
    @where(
      'relation',
      Reference(() => Customer, { id: 'customerId' }, has('cascade') ? { onDelete: 'cascade' } : {}),
    )
    customer?: Customer | null;
  }

  const of = (name: string, recordTypeOf: number, retired: boolean): EntityClass => {
    @Entity({ name, table: shop, recordType: recordTypeOf, retired })
    @RowKey(part('id'), recordType())
    class Other {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:s', text) state?: string | null;
    }
    return Other;
  };

  @Entity({ table: { name: 'lone', families: { d: {} } } })
  @RowKey(literal('x'), part('id'))
  class Lone {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:s', text) state?: string | null;
  }
  return [
    Customer,
    Order,
    ...(has('entity') ? [of('Other', has('record type') ? 2 : 4, false)] : []),
    ...(has('retired entity') ? [of('Past', 3, true)] : []),
    ...(has('table') ? [Lone] : []),
  ];
}

const snapshot = (without?: Part): string => snapshotOf(compileSchema(declare(without)), systemTables);
const check = (before: string, without?: Part): Promise<SnapshotPlan> =>
  checkSnapshot(compileSchema(declare(without)), systemTables, before);

/** As a release before format 2 wrote it. */
function format1(text: string): string {
  const file = JSON.parse(text);
  for (const table of file.tables) delete table.entities;
  return JSON.stringify({ ...file, format: 1 });
}

test('the declarations of the snapshot are the same, in either format', async () => {
  expect(await check(snapshot())).toMatchObject({
    same: true,
    complete: true,
    steps: [],
    differences: [],
    undeclared: [],
  });
  expect(await check(format1(snapshot()))).toMatchObject({
    same: true,
    complete: false,
    steps: [],
    differences: [],
  });
});

test.each(ALL)('%s left out or added is a difference', async (one) => {
  for (const found of [await check(snapshot(), one), await check(snapshot(one))])
    expect(found.same).toBe(false);
});

test.each(ALL.filter((one) => !ONLY_IN_2.has(one)))(
  '%s left out is a difference from format 1',
  async (one) => {
    expect((await check(format1(snapshot()), one)).same).toBe(false);
  },
);

test('what follows for tables is told by the steps, the rest by where it stands', async () => {
  const ids = ({ steps }: SnapshotPlan): string[] => steps.map(({ id }) => id.replace(/\/[0-9a-f]{8}$/, ''));
  const paths = ({ differences }: SnapshotPlan): string[] => differences.map(({ path }) => path.join('.'));
  const column = await check(snapshot(), 'column');
  expect(ids(column)).toEqual(['drop-column:shop/Order/d:l']);
  expect(column.differences).toMatchObject([
    { table: 'shop', path: ['entities', 'Order', 'columns', 'last'], from: { family: 'd', codec: 'text' } },
  ]);
  expect(ids(await check(format1(snapshot()), 'column'))).toEqual(['drop-column:shop/Order/d:l']);
  expect(ids(await check(snapshot(), 'index'))).toEqual(['drop-index:shop/Order.byNote']);
  const plain = await check(snapshot(), 'unique');
  expect(ids(plain)).toEqual(['build-index:shop/Order.byState', 'drop-index:shop/Order.byState']);
  expect(paths(plain)).toContain('entities.Order.indexes.byState.unique');
  const optional = await check(snapshot(), 'required');
  expect(optional).toMatchObject({
    steps: [],
    differences: [{ path: ['entities', 'Order', 'columns', 'note', 'required'], from: true }],
  });
  expect(paths(await check(snapshot(), 'entity'))).toEqual(['entities.Other']);
  expect(paths(await check(snapshot(), 'cascade'))).toEqual(['entities.Order.references.customer']);
  expect((await check(snapshot(), 'table')).undeclared).toEqual(['lone']);
});

test('differences are printed as declarations are written: no hex, and of a signature what differs', () => {
  const at = (path: string[], from: unknown, to: unknown) => ({
    table: 'shop',
    path: ['entities', 'Order', ...path],
    from,
    to,
  });
  const signature = (parts: string, unique = false): string =>
    JSON.stringify(['Order', 'byState', parts, unique, []]);
  const lines = describeSnapshotDifferences([
    at(['columns', 'state', 'qualifier'], '73', '7300'),
    at(['indexes', 'byState', 'signature'], signature('state:text'), signature('state:int32', true)),
    at(['summaries', 'qualifier'], signature('state:text'), '["of another form"]'),
    at(['summaries', 'changed by hand'], '[', signature('state:text')),
    at(['timeToLive', 'lifelong'], true, undefined),
    at(['timeToLive', 'lifelong'], undefined, true),
    { table: 'shop', path: ['families', 'd', 'ttl'], from: 60, to: 2147483647 },
  ]).split('\n');
  expect(lines).toEqual([
    'Differences from the snapshot:',
    '    shop entities.Order.columns.state.qualifier: "s" -> "s\\\\x00"',
    '    shop entities.Order.indexes.byState.signature: "state:text, false" -> "state:int32, true"',
    `    shop entities.Order.summaries.qualifier: ${JSON.stringify(signature('state:text'))} -> "[\\"of another form\\"]"`,
    `    shop entities.Order.summaries.changed by hand: "[" -> ${JSON.stringify(signature('state:text'))}`,
    '    shop entities.Order.timeToLive.lifelong: true no longer exists. Earlier rows of Order still expire: when all have, run rowan index repair and rowan summary build, if it has any.',
    '    shop entities.Order.timeToLive.lifelong: true is new',
    '    shop families.d.ttl: 60 -> "FOREVER"',
    '',
  ]);
});
