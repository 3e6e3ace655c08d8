/** Rowan's Avro bytes read by Apache Avro for Java, and Java's read by Rowan. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toHex } from '../../../src/bytes/index.js';
import {
  type AvroSchema,
  avro,
  avroCodec,
  avroSchemaOf,
  canonicalForm,
  fingerprintOf,
} from '../../../src/codec/index.js';

const first = avroSchemaOf(
  'Everything',
  {
    text: avro.string,
    flag: avro.boolean,
    small: avro.int,
    large: avro.long,
    huge: avro.bigLong,
    single: avro.float,
    real: avro.double,
    blob: avro.bytes,
    day: avro.date,
    at: avro.timestampMillis,
    id: avro.uuid,
    price: avro.decimal(12, 2),
    digest: avro.fixed('Md5', 4),
    state: avro.enum('State', ['OPEN', 'SHIPPED']),
    tags: avro.array(avro.string),
    sums: avro.map(avro.decimal(5, 1)),
    note: avro.optional(avro.string),
    paid: avro.optional(avro.timestampMillis),
    lines: avro.array(avro.record('Line', { sku: avro.string, price: avro.optional(avro.decimal(9, 3)) })),
  },
  { namespace: 'shop.orders' },
);
const second = avroSchemaOf(
  'Everything',
  {
    label: avro.string,
    small: avro.long,
    state: avro.enum('State', ['OPEN', 'SHIPPED', 'LOST']),
    added: avro.withDefault(avro.decimal(6, 2), '\u0001\u0000'),
    note: avro.optional(avro.string),
  },
  { namespace: 'shop.orders', fieldAliases: { label: ['text'] } },
);
const value = {
  text: 'é😀',
  flag: true,
  small: -5,
  large: 9007199254740990,
  huge: -(2n ** 63n),
  single: 1.5,
  real: -0.1,
  blob: Uint8Array.of(0, 255),
  day: new Date('1969-12-31'),
  at: new Date(-1),
  id: '00112233-4455-6677-8899-aabbccddeeff',
  price: '-1234567890.12',
  digest: Uint8Array.of(1, 2, 3, 4),
  state: 'SHIPPED',
  tags: ['a', ''],
  sums: { x: '128.0' },
  note: null,
  paid: new Date(1_700_000_000_123),
  lines: [{ sku: 'a', price: '0.001' }],
};
const schemas: readonly AvroSchema[] = [
  first,
  second,
  'long',
  { type: 'string', doc: 'x' },
  ['null', { type: 'map', values: { type: 'array', items: 'bytes' } }],
  {
    type: 'record',
    name: 'Node',
    namespace: 'a.b',
    doc: 'holds itself',
    fields: [
      { name: 'next', type: ['null', 'Node'], default: null },
      { name: 'md', type: { type: 'fixed', name: 'other.Md5', size: 16, aliases: ['Md'] } },
      { name: 'again', type: 'other.Md5' },
      { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['A', 'B'], default: 'A' } },
    ],
  },
];

const folder = mkdtempSync(join(tmpdir(), 'rowan-avro-'));
const file = (name: string) => join(folder, name);
const read = (name: string) => readFileSync(file(name), 'utf8');

beforeAll(() => {
  writeFileSync(file('first.avsc'), JSON.stringify(first));
  writeFileSync(file('second.avsc'), JSON.stringify(second));
  writeFileSync(file('schemas.txt'), schemas.map((schema) => JSON.stringify(schema)).join('\n'));
  writeFileSync(file('node.bin'), avroCodec(first).encode(value));
  const target = file('target');
  mkdirSync(target);
  const maven = ['-q', '-B', '-f', join(import.meta.dirname, 'pom.xml'), `-Dpeer.directory=${target}`];
  const classPath = file('class-path.txt');
  execFileSync('mvn', [...maven, 'compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPath}`]);
  const jars = readFileSync(classPath, 'utf8').trim();
  execFileSync('java', ['-cp', [join(target, 'classes'), jars].join(delimiter), 'AvroPeer', folder]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is read by Java, every type and logical type', () => {
  expect(read('as-first.txt').trimEnd().split('\n')).toEqual([
    'text = é😀',
    'flag = true',
    'small = -5',
    'large = 9007199254740990',
    'huge = -9223372036854775808',
    'single = 1.5',
    'real = -0.1',
    'blob = 00ff',
    'day = 1969-12-31',
    'at = 1969-12-31T23:59:59.999Z',
    'id = 00112233-4455-6677-8899-aabbccddeeff',
    'price = -1234567890.12',
    'digest = 01020304',
    'state = SHIPPED',
    'tags = [a, ]',
    'sums = {x=128.0}',
    'note = null',
    'paid = 2023-11-14T22:13:20.123Z',
    'lines = [{sku = a;price = 0.001;}]',
  ]);
});

it('is read by Java with a later schema', () => {
  expect(read('as-second.txt').trimEnd().split('\n')).toEqual([
    'label = é😀',
    'small = -5',
    'state = SHIPPED',
    'added = 2.56',
    'note = null',
  ]);
});

it('has the very bytes that Java writes', () => {
  expect(toHex(readFileSync(file('java.bin')))).toBe(toHex(avroCodec(first).encode(value)));
});

it("reads Java's bytes, with the schema they were written with and with a later one", () => {
  const bytes = readFileSync(file('java.bin'));
  expect(avroCodec(first).decode(bytes)).toStrictEqual(value);
  expect(avroCodec(second).decode(bytes)).toStrictEqual({
    label: 'é😀',
    small: -5,
    state: 'SHIPPED',
    added: '2.56',
    note: null,
  });
});

it("has Java's canonical forms and fingerprints", () => {
  const own = schemas.map((schema) => `${toHex(fingerprintOf(schema))} ${canonicalForm(schema)}`);
  // Java gives the eight bytes with the lowest one first, as they stand in front of a value.
  expect(read('fingerprints.txt').trimEnd().split('\n')).toEqual(own);
});
