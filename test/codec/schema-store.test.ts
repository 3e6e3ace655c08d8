import { afterEach, beforeEach, expect, it } from 'vitest';
import { toHex } from '../../src/bytes/index.js';
import {
  AvroRegistry,
  avro,
  avroSchemaOf,
  fingerprintOf,
  schemaTableDescriptor,
  TableSchemaStore,
} from '../../src/codec/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

let fileSystem: MemoryFileSystem;
let now = 1000;
let engine: EmbeddedEngine;
const openStore = () => openEmbedded('/db', { fileSystem, clock: () => now });

beforeEach(async () => {
  fileSystem = new MemoryFileSystem();
  engine = await openStore();
  await engine.admin.createTable(schemaTableDescriptor());
});
afterEach(() => engine.close());

const first = avroSchemaOf('Order', { no: avro.int });
const second = avroSchemaOf('Order', { no: avro.int, note: avro.optional(avro.string) });
const hex = (schema: typeof first) => toHex(fingerprintOf(schema));

it('keeps schemas and the order of their use, also over a reopening', async () => {
  const store = new TableSchemaStore(engine.table('rowan_schemas'));
  expect(await store.versions('shop:crm/d:o')).toEqual([]);
  const registry = new AvroRegistry(store);
  await registry.register('shop:crm/d:o', first);
  now++;
  await registry.register('shop:crm/d:o', second);
  await registry.register('other', second);
  await engine.close();
  engine = await openStore();
  const again = new TableSchemaStore(engine.table('rowan_schemas'));
  expect(await again.versions('shop:crm/d:o')).toEqual([hex(first), hex(second)]);
  expect(await again.versions('other')).toEqual([hex(second)]);
  expect(JSON.parse((await again.get(hex(second)))!)).toEqual(second);
  expect(await again.get('0000000000000000')).toBeUndefined();
});

it('keeps the first time of a schema that is added again', async () => {
  const store = new TableSchemaStore(engine.table('rowan_schemas'));
  await store.add('s', hex(first), JSON.stringify(first));
  now++;
  await store.add('s', hex(second), JSON.stringify(second));
  await store.add('s', hex(first), JSON.stringify(first));
  expect(await store.versions('s')).toEqual([hex(first), hex(second)]);
});
