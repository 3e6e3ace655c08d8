import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBytes, fromStringBinary } from '../../src/bytes/index.js';
import {
  createNamespaceStatements,
  createScript,
  createTableStatement,
  rubyBinary,
  rubyString,
} from '../../src/ddl/index.js';
import {
  BLOOM_FILTERS,
  COMPRESSIONS,
  DATA_BLOCK_ENCODINGS,
  type FamilyOptions,
  KEEP_DELETED_CELLS,
  tableDescriptor,
} from '../../src/table/index.js';
import { type RubyValue, readRuby } from './ruby-reader.js';

const text = fc.string({ unit: 'grapheme' });
const strings = fc.dictionary(fc.string({ minLength: 1 }), text, { maxKeys: 3, noNullPrototype: true });

describe('Ruby literals', () => {
  test('a text comes back from Ruby as it was, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.oneof(text, fc.string({ unit: fc.constantFrom('\\', "'", '"', '#', '{', '$', '\n', 'x', '\0') })),
        (value) => {
          expect(readRuby(`create ${rubyString(value)}`)[0]!.args[0]).toBe(value);
        },
      ),
    );
  });

  test('bytes come back through toBytesBinary as they were', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const read = readRuby(`create ${rubyBinary(bytes)}`)[0]!.args[0] as string;
        expect([...fromStringBinary(read)]).toEqual([...bytes]);
      }),
    );
  });

  test('bytes stand in single quotes with upper-case digits, quote and backslash escaped', () => {
    expect(rubyBinary(Uint8Array.of(0x00, 0xff, 0x27, 0x5c, 0x41, 0x22, 0x23, 0x7f))).toBe(
      String.raw`'\x00\xFF\x27\x5CA"#\x7F'`,
    );
  });
});

test('prints every option of a family, the splits and the namespace', () => {
  const descriptor = tableDescriptor(
    'shop:crm',
    {
      d: { compression: 'SNAPPY', dataBlockEncoding: 'FAST_DIFF', versions: 3, ttl: 86400 },
      p: { compression: 'NONE', blockCache: false, metadata: { note: "it's" } },
    },
    { maxFileSize: 1073741824, durability: 'SYNC_WAL', configuration: { 'hbase.x': '1' } },
  );
  expect(createScript([{ descriptor, splitKeys: [Uint8Array.of(8), Uint8Array.of(0xf0, 0x27)] }])).toBe(
    String.raw`# create_namespace fails where the namespace exists: then leave the line out.
create_namespace 'shop'

create 'shop:crm',
  {NAME => 'd', VERSIONS => 3, MIN_VERSIONS => 0, TTL => 86400, COMPRESSION => 'SNAPPY',
   DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOOMFILTER => 'ROW', BLOCKSIZE => 65536, BLOCKCACHE => true,
   IN_MEMORY => false, KEEP_DELETED_CELLS => 'FALSE', NEW_VERSION_BEHAVIOR => false, REPLICATION_SCOPE => 0,
   CACHE_DATA_ON_WRITE => false, PREFETCH_BLOCKS_ON_OPEN => false},
  {NAME => 'p', VERSIONS => 1, MIN_VERSIONS => 0, TTL => 'FOREVER', COMPRESSION => 'NONE',
   DATA_BLOCK_ENCODING => 'NONE', BLOOMFILTER => 'ROW', BLOCKSIZE => 65536, BLOCKCACHE => false,
   IN_MEMORY => false, KEEP_DELETED_CELLS => 'FALSE', NEW_VERSION_BEHAVIOR => false, REPLICATION_SCOPE => 0,
   CACHE_DATA_ON_WRITE => false, PREFETCH_BLOCKS_ON_OPEN => false, METADATA => {'note' => 'it\'s'}},
  {MAX_FILESIZE => '1073741824', DURABILITY => 'SYNC_WAL', CONFIGURATION => {'hbase.x' => '1'}},
  SPLITS => ['\x08', '\xF0\x27']
`,
  );
});

test('tables of the default namespace need no create_namespace', () => {
  const plain = tableDescriptor('plain', { d: {} });
  const named = tableDescriptor('b:t', { d: {} });
  const other = tableDescriptor('a:t', { d: {} });
  const tables = [plain, named, other].map((descriptor) => ({ descriptor, splitKeys: [] }));
  expect(createNamespaceStatements(tables)).toEqual(["create_namespace 'a'", "create_namespace 'b'"]);
  expect(createScript(tables.slice(0, 1))).not.toContain('namespace');
});

const family: fc.Arbitrary<FamilyOptions> = fc.record(
  {
    versions: fc.integer({ min: 5, max: 100 }),
    minVersions: fc.integer({ min: 0, max: 1 }),
    ttl: fc.integer({ min: 1, max: 2147483647 }),
    compression: fc.constantFrom(...COMPRESSIONS),
    dataBlockEncoding: fc.constantFrom(...DATA_BLOCK_ENCODINGS),
    bloomFilter: fc.constantFrom(...BLOOM_FILTERS),
    blockSize: fc.integer({ min: 1024, max: 1 << 24 }),
    blockCache: fc.boolean(),
    inMemory: fc.boolean(),
    keepDeletedCells: fc.constantFrom(...KEEP_DELETED_CELLS),
    newVersionBehavior: fc.boolean(),
    replicationScope: fc.constantFrom(0, 1),
    cacheDataOnWrite: fc.boolean(),
    prefetchBlocksOnOpen: fc.boolean(),
    configuration: strings,
    metadata: strings,
  },
  { requiredKeys: [] },
);

const SHELL_NAMES = {
  versions: 'VERSIONS',
  minVersions: 'MIN_VERSIONS',
  compression: 'COMPRESSION',
  dataBlockEncoding: 'DATA_BLOCK_ENCODING',
  bloomFilter: 'BLOOMFILTER',
  blockSize: 'BLOCKSIZE',
  blockCache: 'BLOCKCACHE',
  inMemory: 'IN_MEMORY',
  keepDeletedCells: 'KEEP_DELETED_CELLS',
  newVersionBehavior: 'NEW_VERSION_BEHAVIOR',
  replicationScope: 'REPLICATION_SCOPE',
  cacheDataOnWrite: 'CACHE_DATA_ON_WRITE',
  prefetchBlocksOnOpen: 'PREFETCH_BLOCKS_ON_OPEN',
} as const;

test('every option and split of any table comes back from Ruby', () => {
  const splits = fc
    .uniqueArray(fc.uint8Array({ minLength: 1, maxLength: 12 }), {
      maxLength: 20,
      selector: (bytes) => Buffer.from(bytes).toString('hex'),
    })
    .map((keys) => keys.sort(compareBytes));
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b', "q'", 'z z'), family, { minKeys: 1, noNullPrototype: true }),
      splits,
      strings,
      (families, splitKeys, metadata) => {
        const descriptor = tableDescriptor('ns:t', families, { metadata });
        const [call, ...rest] = readRuby(createTableStatement({ descriptor, splitKeys }));
        expect(rest).toEqual([]);
        expect(call!.name).toBe('create');
        const [name, ...clauses] = call!.args;
        expect(name).toBe('ns:t');
        const hashes = clauses as ReadonlyMap<string, RubyValue>[];
        for (const [index, declared] of descriptor.families.entries()) {
          const read = hashes[index]!;
          expect(read.get('NAME')).toBe(declared.name);
          for (const [option, shellName] of Object.entries(SHELL_NAMES)) {
            expect(read.get(shellName)).toBe(declared[option as keyof typeof SHELL_NAMES]);
          }
          expect(read.get('TTL')).toBe(declared.ttl === 2147483647 ? 'FOREVER' : declared.ttl);
          expect(mapOf(read.get('CONFIGURATION'))).toEqual({ ...declared.configuration });
          expect(mapOf(read.get('METADATA'))).toEqual({ ...declared.metadata });
        }
        const last = hashes.find((hash) => hash.has('SPLITS'));
        const read = (last?.get('SPLITS') ?? []) as readonly string[];
        expect(read.map((key) => [...fromStringBinary(key)])).toEqual(splitKeys.map((key) => [...key]));
        if (Object.keys(metadata).length > 0) {
          expect(mapOf(hashes[descriptor.families.length]!.get('METADATA'))).toEqual(metadata);
        }
      },
    ),
  );
});

function mapOf(value: RubyValue | undefined): Record<string, RubyValue> {
  return Object.fromEntries((value as ReadonlyMap<string, RubyValue> | undefined) ?? []);
}
