/** Holds the example of docs/columns.md to what the code does. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type AvroCodec, avro, avroCodec } from '../../src/codec/index.js';

it('the Avro example runs and gives back what it was given', () => {
  const page = readFileSync('docs/columns.md', 'utf8');
  const example = /```ts\n([\s\S]*?)```/.exec(page)![1]!;
  const body = example.replace(/\ncodec\.encode\(([\s\S]*)\);\n$/, '\nreturn [codec, $1];');
  const [codec, value] = new Function('avro', 'avroCodec', body)(avro, avroCodec) as [
    AvroCodec<unknown>,
    unknown,
  ];
  expect(codec.decode(codec.encode(value))).toStrictEqual(value);
});

it('the union of the table is written by the name of its branch', () => {
  const codec = avroCodec([
    { type: 'record', name: 'shop.Order', fields: [] },
    { type: 'record', name: 'shop.Bill', fields: [] },
  ]);
  expect(codec.decode(codec.encode({ 'shop.Order': {} }))).toEqual({ 'shop.Order': {} });
  expect(() => codec.encode({})).toThrowError(/cannot hold/);
});
