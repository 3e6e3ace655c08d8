import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/index.js';
import {
  AvroRegistry,
  type AvroSchema,
  avro,
  avroCodec,
  avroSchemaOf,
  canonicalForm,
  crc64Avro,
  fingerprintOf,
  incompatibilities,
  knownSchema,
  MemorySchemaStore,
  UnknownSchemaError,
} from '../../src/codec/index.js';

const everything = {
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
  raw: avro.optional(avro.bytes),
  lines: avro.array(avro.record('Line', { sku: avro.string, price: avro.optional(avro.decimal(9, 3)) })),
  count: avro.withDefault(avro.int, 7),
};
const value = {
  text: 'é😀',
  flag: true,
  small: -5,
  large: Number.MAX_SAFE_INTEGER - 1,
  huge: -(2n ** 63n),
  single: 1.5,
  real: -0.1,
  blob: Uint8Array.of(0, 255),
  day: new Date('1969-12-31'),
  at: new Date(-1),
  id: '00112233-4455-6677-8899-aabbccddeeff',
  price: '-1234567890.12',
  digest: Uint8Array.of(1, 2, 3, 4),
  state: 'SHIPPED' as const,
  tags: ['a', ''],
  sums: { x: '-0.1', y: '128.0' },
  note: null,
  paid: new Date(1_700_000_000_123),
  raw: Uint8Array.of(9),
  lines: [
    { sku: 'a', price: '0.001' },
    { sku: 'b', price: null },
  ],
  count: 7,
};

describe('values', () => {
  const codec = avroCodec(avro.record('Everything', everything));

  it('come back as they were, as plain objects', () => {
    const back = codec.decode(codec.encode(value));
    expect(back).toStrictEqual(value);
    expect(Object.getPrototypeOf(back.lines[0])).toBe(Object.prototype);
    expect(Buffer.isBuffer(back.blob)).toBe(false);
  });

  it('are written by reference to their schema: C3 01, the fingerprint, the body', () => {
    const text = avroCodec(avro.string);
    expect(toHex(text.encode('ab'))).toBe(`c301${toHex(fingerprintOf('string'))}046162`);
    expect(codec.encode(value).subarray(2, 10)).toEqual(fingerprintOf(codec.schema));
  });

  it('of other classes are no maps and no records', () => {
    const others = [
      new Date(5),
      Uint8Array.of(9),
      new Map([['a', 1]]),
      new Set([1]),
      Promise.resolve(1),
      Object(5) as object,
      /x/,
    ];
    const map = { type: 'map', values: 'double' };
    const optional = {
      type: 'record',
      name: 'Optional',
      fields: [{ name: 'a', type: ['null', 'double'], default: null }],
    };
    for (const schema of [map, optional]) {
      for (const codec of [avroCodec<unknown>(schema), avroCodec<unknown>(['string', schema])]) {
        for (const other of others)
          expect(() => codec.encode(other), String(other)).toThrow('cannot hold the value');
        expect(codec.decode(codec.encode({ a: 1 }))).toEqual({ a: 1 });
      }
    }
    class Own {
      a = 1;
    }
    const own = avroCodec<unknown>(optional);
    expect(own.decode(own.encode(new Own()))).toEqual({ a: 1 });
  });

  it('of unions of bytes, times, maps and records are told apart', () => {
    const record = { type: 'record', name: 'R', fields: [{ name: 'a', type: 'double' }] };
    const bytes = avroCodec<unknown>(['null', 'bytes', record]);
    for (const one of [null, Uint8Array.of(1, 2), { a: 1 }])
      expect(bytes.decode(bytes.encode(one))).toEqual(one);
    expect(bytes.decode(bytes.encode(Buffer.from([1, 2])))).toEqual(Uint8Array.of(1, 2));
    const times = avroCodec<unknown>([
      { type: 'long', logicalType: 'timestamp-millis' },
      { type: 'map', values: 'double' },
      'string',
    ]);
    for (const one of [new Date(5), { a: 1 }, {}, 'x']) expect(times.decode(times.encode(one))).toEqual(one);
  });

  it('are longs with the same bytes as numbers and as bigints', () => {
    const [numbers, bigints] = [avroCodec(avro.long), avroCodec(avro.bigLong)];
    const body = (bytes: Uint8Array): string => toHex(bytes.subarray(10));
    const largest = fc.bigInt(-(2n ** 53n - 2n), 2n ** 53n - 2n).map(Number);
    fc.assert(
      fc.property(fc.oneof(largest, fc.constantFrom(-(2 ** 52), -(2 ** 52) - 1, -(2 ** 53) + 2)), (value) => {
        const bytes = numbers.encode(value);
        expect(body(bytes)).toBe(body(bigints.encode(BigInt(value))));
        expect(numbers.decode(bytes)).toBe(value);
      }),
    );
    const smaller = bigints.encode(-(2n ** 53n) + 1n).subarray(10);
    expect(() => numbers.decode(Buffer.concat([numbers.encode(0).subarray(0, 10), smaller]))).toThrow(
      'precision',
    );
    expect(
      avroCodec(avro.timestampMillis).decode(avroCodec(avro.timestampMillis).encode(new Date(-8.64e15))),
    ).toEqual(new Date(-8.64e15));
  });

  it('may be larger than any buffer at hand, and do not share memory', () => {
    const text = avroCodec(avro.string);
    const one = text.encode('x'.repeat(100_000));
    const two = text.encode('y');
    expect(text.decode(one)).toBe('x'.repeat(100_000));
    expect(text.decode(two)).toBe('y');
  });

  it('take the defaults of fields that are left out', () => {
    const { count: _count, note: _note, ...rest } = value;
    expect(codec.decode(codec.encode(rest as never))).toStrictEqual({ ...value });
  });

  it('become instances of classes, without their constructors being called', () => {
    class Line {
      sku!: string;
      constructor() {
        throw new Error('called');
      }
      label(): string {
        return `#${this.sku}`;
      }
    }
    const lines = avroCodec(avro.array(avro.record('Line', { sku: avro.string })), { classes: { Line } });
    const [line] = lines.decode(lines.encode([{ sku: 'a' }]));
    expect(line).toBeInstanceOf(Line);
    expect((line as unknown as Line).label()).toBe('#a');
    expect(lines.decode(lines.encode([line!]))).toEqual([line]);
    expect(() => avroCodec(avro.string, { classes: { Line } })).toThrowError(/no record named Line/);
  });

  it.each([
    ['a wrong type', { ...value, small: '5' }, /small is "5", which is not of type int/],
    ['a number beyond int', { ...value, small: 2 ** 31 }, /small is 2147483648/],
    ['a long that is no safe integer', { ...value, large: 2 ** 53 }, /large is 9007199254740992/],
    [
      'a time of day in a date',
      { ...value, day: new Date(1) },
      /day is 1970-01-01T00:00:00\.001Z, which is not of type date/,
    ],
    ['too many digits', { ...value, price: '0.001' }, /price is "0\.001", which is not of type decimal/],
    ['a number that is too long', { ...value, price: '12345678901.00' }, /price is/],
    ['an unknown symbol', { ...value, state: 'LOST' }, /state is "LOST", which is not of type State/],
    ['a fixed of another size', { ...value, digest: Uint8Array.of(1) }, /digest is 1 bytes/],
    ['no UUID', { ...value, id: 'x' }, /id is "x", which is not of type uuid/],
    [
      'a field that the schema lacks',
      { ...value, lines: [{ sku: 'a', price: null, colour: 1 }] },
      /lines\.0 has colour, which Line does not declare/,
    ],
    ['a missing field', { ...value, text: undefined }, /text is undefined/],
    ['several at once', { ...value, text: 1, flag: 1 }, /text is 1.*; flag is 1/],
  ])('refuse %s', (_name, wrong, message) => {
    expect(() => codec.encode(wrong as never)).toThrowError(
      expect.objectContaining({ code: 'ERR_CODEC', message: expect.stringMatching(message) }),
    );
  });

  it.each([
    ['no header', '0461', /not c301/],
    ['nothing', '', /\(empty\)/],
    ['a cut body', `c301${toHex(fingerprintOf('string'))}0461`, /Damaged Avro value/],
    ['bytes behind the body', `c301${toHex(fingerprintOf('string'))}026161`, /Damaged Avro value/],
  ])('refuse bytes with %s', (_name, hex, message) => {
    expect(() => avroCodec(avro.string).decode(fromHex(hex))).toThrowError(
      expect.objectContaining({ code: 'ERR_CODEC', message: expect.stringMatching(message) }),
    );
  });

  it('decode a part of a larger buffer', () => {
    const text = avroCodec(avro.string);
    const padded = Buffer.concat([Buffer.alloc(3), text.encode('ab'), Buffer.alloc(2)]);
    expect(text.decode(padded.subarray(3, padded.length - 2))).toBe('ab');
  });
});

describe('fingerprints', () => {
  it('are CRC-64-AVRO of the canonical form', () => {
    // The check value of the specification's own test data.
    expect(crc64Avro(Buffer.from('"null"')).toString(16)).toBe('63dd24e7cc258f8a');
    expect(crc64Avro(Buffer.from('"int"')).toString(16)).toBe('7275d51a3f395c8f');
    expect(toHex(fingerprintOf({ type: 'int', logicalType: 'date' }))).toBe('8f5c393f1ad57572');
  });

  it.each([
    [{ type: 'string', doc: 'x' }, '"string"'],
    [
      ['null', { type: 'array', items: { type: 'map', values: 'long' } }],
      '["null",{"type":"array","items":{"type":"map","values":"long"}}]',
    ],
    [
      {
        doc: 'x',
        fields: [
          { name: 'next', default: null, type: ['null', 'Node'], aliases: ['n'] },
          { name: 'md', type: { type: 'fixed', size: 16, name: 'Md5', namespace: 'other' } },
          { name: 'again', type: 'other.Md5' },
          { name: 'kind', type: { type: 'enum', symbols: ['A'], name: 'Kind' } },
          { name: 'kind2', type: 'Kind' },
        ],
        name: 'Node',
        namespace: 'a.b',
        type: 'record',
      },
      '{"name":"a.b.Node","type":"record","fields":[{"name":"next","type":["null","a.b.Node"]},{"name":"md","type":{"name":"other.Md5","type":"fixed","size":16}},{"name":"again","type":"other.Md5"},{"name":"kind","type":{"name":"a.b.Kind","type":"enum","symbols":["A"]}},{"name":"kind2","type":"a.b.Kind"}]}',
    ],
  ] as [AvroSchema, string][])('canonical form %#', (schema, canonical) => {
    expect(canonicalForm(schema)).toBe(canonical);
  });

  it.each([
    ['an unknown name', { type: 'array', items: 'Nobody' }, /schema\[\] refers to "Nobody"/],
    ['a record without fields', { type: 'record', name: 'R' }, /without a list of fields/],
    [
      'a field twice',
      {
        type: 'record',
        name: 'R',
        fields: [
          { name: 'a', type: 'int' },
          { name: 'a', type: 'int' },
        ],
      },
      /R\.a occurs twice/,
    ],
    ['a bad name', { type: 'record', name: 'R-1', fields: [] }, /no valid Avro name/],
    ['a union in a union', ['null', ['int']], /union within a union/],
    ['a union with a type twice', ['int', { type: 'int', logicalType: 'date' }], /with int twice/],
    ['nothing', null, /neither a name/],
    ['an enum without symbols', { type: 'enum', name: 'E', symbols: [] }, /without symbols/],
  ])('refuse %s', (_name, schema, message) => {
    expect(() => canonicalForm(schema as never)).toThrowError(
      expect.objectContaining({ code: 'ERR_SCHEMA', message: expect.stringMatching(message) }),
    );
  });
});

describe('evolution', () => {
  const v1 = avroSchemaOf('Order', { no: avro.int, state: avro.enum('S', ['A']), old: avro.string });
  const v2 = avroSchemaOf(
    'Purchase',
    {
      number: avro.long,
      state: avro.optional(avro.enum('S', ['A', 'B'])),
      added: avro.withDefault(avro.array(avro.decimal(4, 1)), []),
      at: avro.withDefault(avro.timestampMillis, 5),
      mark: avro.withDefault(avro.bytes, '\u00ff'),
      big: avro.withDefault(avro.bigLong, 3),
    },
    { aliases: ['Order'], fieldAliases: { number: ['no'] } },
  );

  it('reads what older schemas wrote', () => {
    const old = avroCodec<{ no: number; state: string; old: string }>(v1);
    const bytes = old.encode({ no: 7, state: 'A', old: 'gone' });
    expect(avroCodec(v2).decode(bytes)).toStrictEqual({
      number: 7,
      state: 'A',
      added: [],
      at: new Date(5),
      mark: Uint8Array.of(255),
      big: 3n,
    });
  });

  it('promotes under logical types and in bigints', () => {
    const writer = avroSchemaOf('R', { a: avro.int, b: avro.int, c: avro.string, d: avro.long });
    const reader = avroSchemaOf('R', {
      a: avro.timestampMillis,
      b: avro.bigLong,
      c: avro.bytes,
      d: avro.bigLong,
    });
    const bytes = avroCodec(writer).encode({ a: 5, b: 6, c: 'é', d: -7 });
    expect(avroCodec(reader).decode(bytes)).toStrictEqual({
      a: new Date(5),
      b: 6n,
      c: Uint8Array.of(0xc3, 0xa9),
      d: -7n,
    });
  });

  it('says which schema it does not know, and reads once that is known', () => {
    const hidden = {
      type: 'record',
      name: 'Order',
      fields: [
        { name: 'no', type: 'int' },
        { name: 'z', type: 'int' },
      ],
    };
    const bytes = Buffer.concat([fromHex('c301'), fingerprintOf(hidden as AvroSchema), fromHex('0e02')]);
    const reader = avroCodec(avro.record('Order', { no: avro.int }));
    let error: unknown;
    try {
      reader.decode(bytes);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(UnknownSchemaError);
    expect(error).toMatchObject({ code: 'ERR_CODEC', retryable: true });
    const store = new MemorySchemaStore();
    const registry = new AvroRegistry(store);
    return expect(registry.load((error as UnknownSchemaError).fingerprint))
      .rejects.toThrowError(/not in the schema store/)
      .then(() => store.add('x', (error as UnknownSchemaError).fingerprint, JSON.stringify(hidden)))
      .then(() => registry.load((error as UnknownSchemaError).fingerprint))
      .then(() => expect(reader.decode(bytes)).toEqual({ no: 7 }));
  });

  it('refuses to read what the rules of resolution do not allow', () => {
    const bytes = avroCodec(avroSchemaOf('Q', { a: avro.string })).encode({ a: 'x' });
    expect(() => avroCodec(avroSchemaOf('Q', { a: avro.int, b: avro.int })).decode(bytes)).toThrowError(
      /cannot read .*Q\.a: string was written, but the reader has int; Q\.b: it was not written/,
    );
  });
});

describe('incompatibilities', () => {
  const rec = (fields: Parameters<typeof avroSchemaOf>[1], name = 'R') => avroSchemaOf(name, fields);
  it.each([
    ['int as long', 'long', 'int', []],
    ['long as int', 'int', 'long', ['schema: long was written, but the reader has int']],
    ['float as double', 'double', 'float', []],
    ['double as float', 'float', 'double', ['schema: double was written, but the reader has float']],
    ['string as bytes', 'bytes', 'string', []],
    [
      'a branch that is not read',
      'string',
      ['null', 'string'],
      ['schema: null was written, but the reader has string'],
    ],
    ['a type into a union', ['null', 'long'], 'int', []],
    [
      'a type that no branch takes',
      ['null', 'long'],
      'string',
      ['schema: string was written, but the reader has only null, long'],
    ],
    [
      'items',
      { type: 'array', items: 'int' },
      { type: 'array', items: 'string' },
      ['schema[]: string was written, but the reader has int'],
    ],
    [
      'values',
      { type: 'map', values: 'int' },
      { type: 'map', values: 'string' },
      ['schema{}: string was written, but the reader has int'],
    ],
    [
      'several fields, at once',
      rec({ a: avro.int, b: avro.string, c: avro.boolean }),
      rec({ a: avro.string, b: avro.string }),
      [
        'R.a: string was written, but the reader has int',
        'R.c: it was not written, but the reader has no default for it',
      ],
    ],
    ['a field with a default', rec({ a: avro.int, b: avro.optional(avro.int) }), rec({ a: avro.int }), []],
    ['a dropped field', rec({ a: avro.int }), rec({ a: avro.int, b: avro.int }), []],
    [
      'another name',
      rec({}, 'A'),
      rec({}, 'B'),
      ['A: "B" was written, but the reader has "A" without that alias'],
    ],
    [
      'symbols',
      avro.enum('E', ['A']).schema,
      avro.enum('E', ['A', 'B', 'C']).schema,
      ['E: the symbols B, C were written, but the reader has neither these nor a default'],
    ],
    [
      'symbols with a default',
      { type: 'enum', name: 'E', symbols: ['A'], default: 'A' },
      avro.enum('E', ['A', 'B']).schema,
      [],
    ],
    [
      'sizes',
      avro.fixed('F', 2).schema,
      avro.fixed('F', 3).schema,
      ['F: 3 bytes were written, but the reader has 2'],
    ],
    [
      'scales',
      rec({ p: avro.decimal(9, 3) }),
      rec({ p: avro.decimal(9, 2) }),
      ['R.p: decimal(9, 2) was written, which decimal(9, 3) would read as another number or not at all'],
    ],
    ['more digits', rec({ p: avro.decimal(12, 2) }), rec({ p: avro.decimal(9, 2) }), []],
    [
      'inside of an optional record',
      rec({ l: avro.optional(avro.record('L', { a: avro.int })) }),
      rec({ l: avro.optional(avro.record('L', { a: avro.string })) }),
      ['R.l.a: string was written, but the reader has int'],
    ],
    [
      'a record that holds itself',
      {
        type: 'record',
        name: 'N',
        fields: [
          { name: 'next', type: ['null', 'N'] },
          { name: 'v', type: 'int' },
        ],
      },
      {
        type: 'record',
        name: 'N',
        fields: [
          { name: 'next', type: ['null', 'N'] },
          { name: 'v', type: 'long' },
        ],
      },
      ['N.v: long was written, but the reader has int'],
    ],
    [
      'only the namespace',
      { ...(rec({}) as object), namespace: 'a' },
      { ...(rec({}) as object), namespace: 'b' },
      [],
    ],
  ] as [string, AvroSchema, AvroSchema, string[]][])('%s', (_name, reader, writer, expected) => {
    expect(incompatibilities(reader, writer).map(({ path, message }) => `${path}: ${message}`)).toEqual(
      expected,
    );
  });
});

describe('the registry', () => {
  const v1 = avroSchemaOf('T', { a: avro.int });
  const v2 = avroSchemaOf('T', { a: avro.int, b: avro.int });
  const v3 = avroSchemaOf('T', { a: avro.string, b: avro.optional(avro.int) });

  it('lets a first schema in, and holds later ones against all that are stored', async () => {
    const store = new MemorySchemaStore();
    await new AvroRegistry(store).register('crm/d:t', v1);
    const registry = new AvroRegistry(store);
    await expect(registry.register('crm/d:t', v2)).rejects.toMatchObject({
      code: 'ERR_SCHEMA',
      problems: [expect.stringMatching(/^backward to [0-9a-f]{16} at T\.b: it was not written/)],
    });
    expect(await store.versions('crm/d:t')).toHaveLength(1);
    await registry.register('crm/d:t', v2, 'forward');
    expect(await store.versions('crm/d:t')).toHaveLength(2);
    const problems = await registry.problems('crm/d:t', v3, 'full');
    expect(problems.map(({ direction, path }) => `${direction} ${path}`).sort()).toEqual([
      'backward T.a',
      'backward T.a',
      'forward T.a',
      'forward T.a',
      'forward T.b',
    ]);
    await registry.register('crm/d:t', v3, 'none');
    expect(await store.versions('crm/d:t')).toHaveLength(3);
    expect(await registry.problems('other', v3, 'full')).toEqual([]);
  });

  it('finds a change of scale, which the fingerprint does not show', async () => {
    const registry = new AvroRegistry(new MemorySchemaStore());
    await registry.register('s', avroSchemaOf('P', { p: avro.decimal(9, 2) }));
    await expect(registry.register('s', avroSchemaOf('P', { p: avro.decimal(9, 3) }))).rejects.toThrowError(
      /P\.p: decimal\(9, 2\) was written/,
    );
  });

  it('writes nothing for a schema that is registered already', async () => {
    const store = new MemorySchemaStore();
    await new AvroRegistry(store).register('crm/d:t', v1);
    store.add = () => Promise.reject(new Error('written again'));
    await new AvroRegistry(store).register('crm/d:t', v1);
    await expect(new AvroRegistry(store).register('crm/d:u', v1)).rejects.toThrow('written again');
  });

  it('makes stored schemas known to codecs', async () => {
    const schema = avroSchemaOf('OnlyInStore', { q: avro.int });
    const fingerprint = toHex(fingerprintOf(schema));
    expect(knownSchema(fingerprint)).toBeUndefined();
    const store = new MemorySchemaStore();
    await store.add('s', fingerprint, JSON.stringify(schema));
    await Promise.all([new AvroRegistry(store).load(fingerprint), new AvroRegistry(store).load(fingerprint)]);
    expect(knownSchema(fingerprint)).toEqual(schema);
  });

  it('notices a damaged store', async () => {
    const store = new MemorySchemaStore();
    await store.add('s', '0000000000000001', '"int"');
    await expect(new AvroRegistry(store).load('0000000000000001')).rejects.toThrowError(/store is damaged/);
  });
});
