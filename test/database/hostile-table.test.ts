/** What lies beneath the entities answers wrong arguments with a RowanError, too: tables, admins, and what they are asked by. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Append,
  CheckAndMutate,
  comparators,
  Delete,
  filters,
  Get,
  Increment,
  openEmbedded,
  Put,
  RowMutations,
  Scan,
  type SyncTable,
  type TableDescriptor,
  tableDescriptor,
} from '../../src/public/table.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { attack as attackWith, DECLARED } from './hostile.js';

const attack = (target: object, method: string, right: readonly unknown[]): Promise<string[]> =>
  attackWith(target, method, right, DECLARED);

let engine: EmbeddedEngine;
let table: SyncTable;
const descriptor: TableDescriptor = tableDescriptor('walked', { d: {} });

beforeAll(async () => {
  engine = await openEmbedded('/hostile', { fileSystem: new MemoryFileSystem() });
  await engine.admin.createTable(descriptor);
  table = engine.table('walked');
});
afterAll(() => engine.close());

const put = (): Put => new Put('r').addColumn('d', 'q', 'v');

it.each([
  ['get', () => [new Get('r')]],
  ['getAll', () => [[new Get('r')]]],
  ['exists', () => [new Get('r')]],
  ['put', () => [put()]],
  ['putAll', () => [[put()]]],
  ['delete', () => [new Delete('r')]],
  ['increment', () => [new Increment('r').addColumn('d', 'n', 1)]],
  ['append', () => [new Append('r').addColumn('d', 'q', 'v')]],
  ['mutateRow', () => [new RowMutations('r').add(put())]],
  ['checkAndMutate', () => [CheckAndMutate.ifNotExists('d', Uint8Array.of(1), put())]],
  ['batch', () => [[put()]]],
  ['getSync', () => [new Get('r')]],
] as const)('table.%s', async (method, right) => {
  expect(await attack(table, method, right())).toEqual([]);
});

it.each(['scan', 'scanSync'] as const)('table.%s', async (method) => {
  const run = {
    [method]: async (...args: unknown[]) => {
      const scanner = Reflect.apply(
        Reflect.get(table, method) as (scan: Scan) => { next(): unknown; close(): unknown },
        table,
        args,
      );
      try {
        await scanner.next();
      } finally {
        await scanner.close();
      }
    },
  };
  expect(await attack(run, method, [new Scan()])).toEqual([]);
});

it('createTable with wrong split keys, of a table that is not there', async () => {
  const descriptor = tableDescriptor('absent', { d: {} });
  const create = async (splits: unknown) => {
    await engine.admin.createTable(descriptor, splits as Uint8Array[]);
    await engine.admin.disableTable('absent');
    await engine.admin.deleteTable('absent');
  };
  expect(await attack({ create }, 'create', [])).toEqual([]);
  for (const wrong of [null, 5, true, {}])
    await expect(create(wrong)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});

it.each([
  ['createNamespace', ['ns']],
  ['deleteNamespace', ['none']],
  ['createTable', [tableDescriptor('other', { d: {} }), []]],
  ['deleteTable', ['none']],
  ['truncateTable', ['none', true]],
  ['modifyTable', [descriptor]],
  ['enableTable', ['none']],
  ['disableTable', ['none']],
  ['isTableEnabled', ['walked']],
  ['tableExists', ['walked']],
  ['getDescriptor', ['walked']],
  ['getRegions', ['walked']],
  ['flush', ['walked', 'd']],
  ['compact', ['walked', 'd']],
  ['majorCompact', ['walked', 'd']],
  ['split', ['walked', new Uint8Array([1])]],
] as readonly (readonly [string, readonly unknown[]])[])('admin.%s', async (method, right) => {
  expect(await attack(engine.admin, method, right)).toEqual([]);
});

describe('what tables are asked by', () => {
  it.each([
    [
      'Get',
      () => new Get('r'),
      {
        addFamily: ['d'],
        addColumn: ['d', 'q'],
        setTimeRange: [0, 1],
        setTimestamp: [1],
        readVersions: [1],
        setFilter: [filters.firstKeyOnly()],
        setCacheBlocks: [true],
        setConsistency: ['STRONG'],
        setMaxResultsPerColumnFamily: [1],
        setRowOffsetPerColumnFamily: [0],
        setCheckExistenceOnly: [true],
      },
    ],
    [
      'Scan',
      () => new Scan(),
      {
        withStartRow: ['a'],
        withStopRow: ['b'],
        setStartStopRowForPrefix: ['a'],
        setReversed: [true],
        setRaw: [true],
        setLimit: [1],
        setBatch: [1],
        setCaching: [1],
        setMaxResultSize: [1],
        setColumnFamilyTimeRange: ['d', 0, 1],
      },
    ],
    ['Put', () => new Put('r'), { addColumn: ['d', 'q', 'v'], setTtl: [1], setDurability: ['SYNC_WAL'] }],
    [
      'Delete',
      () => new Delete('r'),
      { addColumn: ['d', 'q'], addColumns: ['d', 'q'], addFamily: ['d'], addFamilyVersion: ['d', 1] },
    ],
    ['Increment', () => new Increment('r'), { addColumn: ['d', 'n', 1], setTimeRange: [0, 1] }],
    ['Append', () => new Append('r'), { addColumn: ['d', 'q', 'v'], setTimeRange: [0, 1] }],
    ['RowMutations', () => new RowMutations('r'), { add: [put()] }],
  ] as const)('%s', async (_, make, methods: Readonly<Record<string, readonly unknown[]>>) => {
    for (const [method, right] of Object.entries(methods)) {
      const run = {
        [method]: (...args: unknown[]) => {
          const target = make();
          Reflect.apply(Reflect.get(target, method) as () => unknown, target, args);
        },
      };
      expect(await attack(run, method, right)).toEqual([]);
    }
  });

  it('constructors, descriptors, filters, comparators and checks', async () => {
    for (const kind of [Get, Put, Delete, Increment, Append, RowMutations]) {
      expect(
        await attack({ make: (...args: unknown[]) => Reflect.construct(kind, args) as unknown }, 'make', [
          'r',
        ]),
      ).toEqual([]);
    }
    expect(await attack({ tableDescriptor }, 'tableDescriptor', ['t', { d: {} }, {}])).toEqual([]);
    for (const makers of [filters, comparators]) {
      for (const name of Object.keys(makers)) expect(await attack(makers, name, [])).toEqual([]);
    }
    for (const [name, right] of [
      ['ifNotExists', ['d', 'q', put()]],
      ['ifEquals', ['d', 'q', 'v', put()]],
      ['ifFilter', [filters.firstKeyOnly(), put()]],
      ['ifMatches', [{ family: 'd', qualifier: 'q', operator: 'EQUAL', value: 'v' }, put()]],
    ] as const) {
      expect(await attack(CheckAndMutate, name, right)).toEqual([]);
    }
  });
});
