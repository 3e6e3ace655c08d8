/** Random declarations of a few tables: pairs of them are what a schema may become. */

import fc from 'fast-check';
import { defineEntity, defineTable, part, salt } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Schema } from '../../src/schema/index.js';
import {
  BLOOM_FILTERS,
  DATA_BLOCK_ENCODINGS,
  type FamilyOptions,
  KEEP_DELETED_CELLS,
  type TableOptions,
} from '../../src/table/index.js';

const word = fc.string({
  unit: fc.constantFrom('a', "'", '"', '\\', '#{x}', '#', ' ', 'é', '\n'),
  minLength: 1,
});

const settings = fc.dictionary(
  fc.constantFrom('hbase.hstore.compaction.min', 'hbase.hstore.blockingStoreFiles'),
  fc.integer({ min: 3, max: 20 }).map(String),
  { noNullPrototype: true },
);

const notes = fc.dictionary(fc.constantFrom('owner', "o'wner", 'note #{1}'), word, { noNullPrototype: true });

const family: fc.Arbitrary<FamilyOptions> = fc
  .record(
    {
      versions: fc.integer({ min: 1, max: 9 }),
      minVersions: fc.integer({ min: 0, max: 9 }),
      ttl: fc.oneof(fc.constant('FOREVER' as const), fc.integer({ min: 60, max: 10_000_000 })),
      compression: fc.constantFrom('NONE' as const, 'GZ' as const, 'SNAPPY' as const, 'ZSTD' as const),
      dataBlockEncoding: fc.constantFrom(...DATA_BLOCK_ENCODINGS),
      bloomFilter: fc.constantFrom(...BLOOM_FILTERS),
      blockSize: fc.integer({ min: 1024, max: 1 << 20 }),
      blockCache: fc.boolean(),
      inMemory: fc.boolean(),
      keepDeletedCells: fc.constantFrom(...KEEP_DELETED_CELLS),
      newVersionBehavior: fc.boolean(),
      replicationScope: fc.constantFrom(0, 1),
      cacheDataOnWrite: fc.boolean(),
      prefetchBlocksOnOpen: fc.boolean(),
      configuration: settings,
      metadata: notes,
    },
    { requiredKeys: [] },
  )
  .map((options) => ({
    ...options,
    ...(options.minVersions === undefined
      ? {}
      : { minVersions: Math.min(options.minVersions, options.versions ?? 1) }),
  }));

const table: fc.Arbitrary<TableOptions> = fc.record(
  {
    durability: fc.constantFrom('USE_DEFAULT' as const, 'ASYNC_WAL' as const, 'SYNC_WAL' as const),
    maxFileSize: fc.integer({ min: 2 << 20, max: 1 << 30 }),
    memstoreFlushSize: fc.integer({ min: 1 << 20, max: 1 << 28 }),
    readOnly: fc.boolean(),
    splitEnabled: fc.boolean(),
    compactionEnabled: fc.boolean(),
    splitPolicy: fc.constantFrom(
      'org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy',
      'org.apache.hadoop.hbase.regionserver.SteppingSplitPolicy',
    ),
    configuration: settings,
    metadata: notes,
  },
  { requiredKeys: [] },
);

/** Plain values, so that a failure prints what was declared; `compiled` makes a schema of them. */
export interface RandomSchema {
  readonly name: string;
  readonly families: Readonly<Record<string, FamilyOptions>>;
  readonly main: FamilyOptions;
  readonly options: TableOptions;
  readonly columns: readonly string[];
  readonly regions: number;
}

/** One entity in one table, whose columns have the same codec in every declaration. */
export function compiled({ name, families, main, options, columns, regions }: RandomSchema): Schema {
  const Entity = defineEntity({
    name: 'Thing',
    table: defineTable({
      name,
      families: { ...families, d: main },
      ...options,
      ...(regions === 1 ? {} : { presplit: { regions } }),
    }),
    key: [salt(4, ['id']), part('id')],
    columns: (c) =>
      Object.fromEntries(
        ['m', ...columns].map((column) => [
          column,
          column === 'c' ? c.column('d:c', int32).optional() : c.column(`d:${column}`, text).optional(),
        ]),
      ),
  });
  return compileSchema([Entity]);
}

/** The same table, declared twice. */
export function schemaPairs(name: string): fc.Arbitrary<readonly [RandomSchema, RandomSchema]> {
  const one = fc.record({
    name: fc.constant(name),
    families: fc.dictionary(fc.constantFrom('a', 'b', 'c'), family, { noNullPrototype: true }),
    main: family,
    options: table,
    columns: fc.subarray(['n', 'c', 'x']),
    regions: fc.constantFrom(1, 2, 4),
  });
  return fc.tuple(one, one);
}
