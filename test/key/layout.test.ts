import { createHash } from 'node:crypto';
import fc from 'fast-check';
import murmurHash3 from 'murmurhash3js';
import { describe, expect, it, vi } from 'vitest';
import { keyNames } from '../../decorators/row-key.js';
import { fromHex, toHex, toLatin1 } from '../../src/bytes/index.js';
import { murmur3, murmur3InPlace } from '../../src/key/digest.js';
import {
  bucket,
  bytes,
  compileKeyLayout,
  date,
  desc,
  float64,
  geohash,
  hash,
  inferKeyCodec,
  int32,
  int64,
  type KeyElement,
  literal,
  part,
  recordType,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  salt,
  substitute,
  text,
  timeBucket,
  uint8,
  uint32,
} from '../../src/key/index.js';

const compile = (elements: readonly KeyElement[], type?: number) =>
  compileKeyLayout(elements, () => undefined, type);
const utf8 = (text: string) => Buffer.from(text).toString('hex');
const md5 = (data: string) => createHash('md5').update(data).digest('hex');

it('computes murmur3 as murmurhash3js does of the bytes as latin1 text, whatever their number and the seed', () => {
  const seeds = fc.oneof(fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff), fc.nat(0xffffffff));
  const check = (value: Uint8Array, offset: number, seed: number): void => {
    const padded = Buffer.concat([Buffer.alloc(offset, 0xaa), value, Buffer.alloc(3, 0xbb)]).subarray(1);
    const [start, end] = [offset - 1, offset - 1 + value.length];
    const expected = murmurHash3.x86.hash32(toLatin1(value), seed);
    expect(murmur3(padded, start, end, seed)).toBe(expected);
    expect(murmur3InPlace(padded, start, end, seed)).toBe(expected);
  };
  fc.assert(
    fc.property(fc.uint8Array({ size: 'max', maxLength: 300 }), fc.integer({ min: 1, max: 9 }), seeds, check),
  );
  const value = Uint8Array.from({ length: 300 }, (_, i) => (i * 167 + 128) & 0xff);
  for (let length = 0; length <= 300; length++) check(value.subarray(0, length), 1, 0xfedcba98);
});

it('takes murmur3 from murmurhash3js where the bytes are more than short keys have', () => {
  const hash32 = vi.spyOn(murmurHash3.x86, 'hash32');
  try {
    murmur3(new Uint8Array(64));
    expect(hash32).not.toHaveBeenCalled();
    murmur3(new Uint8Array(70).fill(0xff, 1, 66), 1, 66, 0xffffffff);
    expect(hash32.mock.calls).toEqual([['\xff'.repeat(65), 0xffffffff]]);
  } finally {
    hash32.mockRestore();
  }
});

const at = new Date(1_600_000_000_000);
const golden: readonly (readonly [string, readonly KeyElement[], Record<string, unknown>, string])[] = [
  ['text and number', [part('t', text), part('n', uint32)], { t: 'a\0b', n: 7 }, '6100ff62000100000007'],
  ['text at the end', [part('n', uint8), part('t', text)], { t: 'a\0', n: 7 }, '076100'],
  ['descending text', [part('t', desc(text)), part('n', uint8)], { t: 'a\0', n: 7 }, '9eff00fffe07'],
  ['descending text at the end', [part('t', desc(text))], { t: 'a' }, '9efffe'],
  ['descending part', [desc(part('n', int32))], { n: 1 }, '7ffffffe'],
  ['record type and literal', [literal('v1'), recordType(), part('n', uint8)], { n: 9 }, '76310309'],
  ['reverse timestamp', [reverseTimestamp('at')], { at }, '7ffffe8b78917fff'],
  ['reverse timestamp before 1970', [reverseTimestamp('at')], { at: new Date(-1) }, '8000000000000000'],
  [
    'reverse timestamp as text',
    [reverseTimestamp('at', { as: 'number', text: true })],
    { at: 1_600_000_000_000 },
    utf8('9223370436854775807'),
  ],
  ['reverse', [reverse('t'), part('n', uint8)], { t: 'ab\u{1f600}', n: 1 }, 'f09f98806261000101'],
  ['reverse domain', [reverseDomain('d')], { d: 'www.apache.org' }, utf8('org.apache.www')],
  ['reverse digits', [reverseDigits('n', 6)], { n: 1234 }, utf8('432100')],
  ['phone number', [reverseDigits('p', 11, 'string')], { p: '13800138001' }, utf8('10083100831')],
  ['digest', [hash(part('t', text)), part('n', uint8)], { t: 'host', n: 1 }, `${md5('host')}01`],
  [
    'cut digest, kept',
    [hash(part('t', text), { bytes: 2, keep: true })],
    { t: 'host' },
    md5('host').slice(0, 4) + utf8('host'),
  ],
  [
    'first six hex digits of the md5 of the id modulo 100',
    [hash(part('id', int64), { modulo: 100, bytes: 3, encoding: 'hex', keep: true })],
    { id: 1234n },
    `${utf8(md5('34').slice(0, 6))}80000000000004d2`,
  ],
  ['digest of a descending part', [hash('t'), part('t', desc(text))], { t: 'a' }, `${md5('a')}9efffe`],
  ['bucket', [bucket('at', 100), part('at', date)], { at: new Date(250) }, '3280000000000000fa'],
  ['bucket before 1970', [bucket('n', 7), part('n', int64)], { n: -1n }, '067fffffffffffffff'],
  [
    'OpenTSDB: metric id, hour, tags',
    [
      substitute('metric', 'metrics', { bytes: 3 }),
      timeBucket('at', '1h', { unit: 's' }),
      part('tags', bytes),
    ],
    { metric: 258, at: new Date(1_600_003_599_999), tags: Uint8Array.of(1, 2) },
    '0001025f5e17d00102',
  ],
  [
    'time bucket, descending',
    [desc(timeBucket('at', '1d')), part('n', uint8)],
    { at: new Date(-1), n: 0 },
    '8000000005265bff00',
  ],
];

/** What an object of a class has that was loaded from other files. */
function methodsOf(one: object): object {
  const names = ['write', 'read', 'alike'];
  return Object.fromEntries(names.map((name) => [name, Reflect.get(one, name)]));
}

describe('the bytes of keys', () => {
  it.each(golden)('%s', (_name, elements, values, hex) => {
    const layout = compile(elements, elements.some(({ kind }) => kind === 'recordType') ? 3 : undefined);
    const row = layout.encode(values);
    expect(toHex(row)).toBe(hex);
    const recoverable = layout.parts.filter((one) => one.recoverable).map(({ name }) => [name, values[name]]);
    expect(layout.decode(row)).toEqual(Object.fromEntries(recoverable));
  });
});

it('ends each part but the last before it is hashed with others', () => {
  const elements = [hash(['from', 'to', 'n'], { bytes: 4 })];
  const codecs = { from: text, to: text, n: uint8 } as const;
  const layout = compileKeyLayout(elements, (name) => codecs[name as keyof typeof codecs] as never);
  const key = (from: string, to: string) => toHex(layout.encode({ from, to, n: 7 }));
  expect(key('CT', 'UPEK')).toBe(md5('CT\0\x01UPEK\0\x01\x07').slice(0, 8));
  expect(key('CTU', 'PEK')).toBe(md5('CTU\0\x01PEK\0\x01\x07').slice(0, 8));
  expect(key('a\0', 'b')).toBe(
    createHash('md5').update(Buffer.from('6100ff000162000107', 'hex')).digest('hex').slice(0, 8),
  );
});

it('takes a time of several buckets once, where the finest of them stands', () => {
  const elements = [timeBucket('at', '1d'), part('id', uint8), timeBucket('at', '1h', { unit: 's' })];
  const layout = compile(elements);
  expect(layout.parts.map(({ name }) => name)).toEqual(['id', 'at']);
  expect(keyNames(elements)).toEqual(['id', 'at']);
  const when = new Date(86_400_000 + 3 * 3_600_000 + 17);
  expect(toHex(layout.encode({ id: 5, at: when }))).toBe('8000000005265c00' + '05' + '00017bb0');
  expect(keyNames([timeBucket('at', '1h'), timeBucket('at', '1h'), part('id', uint8)])).toEqual(['at', 'id']);
});

describe('salts', () => {
  it('are murmur3 of the bytes behind them, as any other language computes it', () => {
    const layout = compile([salt(16), part('t', text), part('n', uint32)]);
    for (const n of [0, 1, 2, 1000]) {
      const row = layout.encode({ t: 'acme', n });
      expect(row[0]).toBe(murmurHash3.x86.hash32(toLatin1(row.subarray(1))) % 16);
      const long = layout.encode({ t: 'é'.repeat(100), n });
      expect(long[0]).toBe(murmurHash3.x86.hash32(toLatin1(long.subarray(1))) % 16);
    }
  });

  it('leave record types out, so that a parent and its children stand together', () => {
    const parent = compile([salt(16), part('c', text), recordType()], 1);
    const child = compile([salt(16, ['c']), part('c', text), recordType(), part('n', uint32)], 2);
    const salts = new Set<number>();
    for (let i = 0; i < 100; i++) {
      const c = `customer ${i}`;
      expect(child.encode({ c, n: i })[0]).toBe(parent.encode({ c })[0]);
      salts.add(parent.encode({ c })[0]!);
    }
    expect(salts.size).toBe(16);
  });

  it('join the bytes of parts that do not stand side by side', () => {
    const layout = compile([salt(256, ['a', 'c']), part('a', uint8), part('b', uint8), part('c', uint8)]);
    expect(layout.encode({ a: 1, b: 2, c: 3 })[0]).toBe(murmurHash3.x86.hash32('\x01\x03') % 256);
  });

  it('may hang on one another', () => {
    const layout = compile([salt(7, ['b']), part('a', uint8), salt(5, ['a']), part('b', uint8)]);
    expect([...layout.encode({ a: 1, b: 2 })]).toEqual([
      murmurHash3.x86.hash32('\x02') % 7,
      1,
      murmurHash3.x86.hash32('\x01') % 5,
      2,
    ]);
  });

  it('write a chosen prefix', () => {
    const layout = compile([salt(['a-', 'b-'], ['t']), part('t', text)]);
    const row = Buffer.from(layout.encode({ t: 'foo0003' })).toString();
    expect(row).toMatch(/^[ab]-foo0003$/);
    expect(Buffer.from(layout.encode({ t: 'foo0003' })).toString()).toBe(row);
  });
});

describe('rows of other layouts', () => {
  const layout = compile([salt(16), part('t', text), recordType(), part('n', uint8)], 2);
  it.each([
    ['an unknown salt', '10610001020 1'],
    ['another record type', '0061000103 01'],
    ['a text without an end', '006162'],
    ['a bad escape', '00610002 02 01'],
    ['bytes behind the last part', '0061000102 0101'],
    ['a missing part', '0061000102'],
    ['nothing', ''],
  ])('%s', (_name, spaced) => {
    const row = fromHex(spaced.replaceAll(' ', ''));
    expect(layout.matches(row)).toBe(false);
    expect(() => layout.decode(row)).toThrowError(
      expect.objectContaining({ code: 'ERR_KEY', details: expect.objectContaining({ keyHex: toHex(row) }) }),
    );
  });

  it('never makes matches throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (row) => typeof layout.matches(row) === 'boolean'),
    );
  });
});

describe('values that no key can have', () => {
  const layout = compile([salt(4), part('t', text), part('n', uint8)]);
  it.each([
    ['a missing part', { t: 'a' }, /"n" is undefined/],
    ['null', { t: null, n: 1 }, /"t" is null/],
    ['a wrong type', { t: 'a', n: '1' }, /"n": uint8 cannot hold "1"/],
    ['half a surrogate pair', { t: 'a\ud83d', n: 1 }, /"t": text cannot hold .*lone surrogate/],
    ['a row that is too long', { t: 'x'.repeat(40000), n: 1 }, /at most 32767/],
  ])('%s', (_name, values, message) => {
    expect(() => layout.encode(values)).toThrowError(
      expect.objectContaining({ code: 'ERR_KEY', message: expect.stringMatching(message) }),
    );
  });

  it('refuses an empty row', () => {
    expect(() => compile([part('t', text)]).encode({ t: '' })).toThrowError(/row key is empty/);
  });

  it('names the part of a derived element', () => {
    expect(() => compile([bucket('t', 3), part('t', float64)]).encode({ t: 1.5 })).toThrowError(
      /"t": 1.5 has no modulo/,
    );
    expect(() => compile([timeBucket('at', '1h')]).encode({ at: 5 })).toThrowError(
      /"at": timeBucket cannot hold 5/,
    );
    expect(() => compile([hash(part('t', text))]).encode({ t: 5 })).toThrowError(/"t": text cannot hold 5/);
  });

  it('is itself again after an error', () => {
    const good = layout.encode({ t: 'a', n: 1 });
    expect(() => layout.encode({ t: 'a', n: -1 })).toThrowError();
    expect(layout.encode({ t: 'a', n: 1 })).toEqual(good);
  });
});

describe('declarations that are wrong', () => {
  it('are reported all at once', () => {
    const elements = [
      salt(16, ['nobody']),
      part('a'),
      part('b', text),
      part('b', text),
      bucket('c', 3),
      recordType(),
    ];
    expect(() => compile(elements)).toThrowError(
      expect.objectContaining({
        code: 'ERR_SCHEMA',
        problems: [
          expect.stringContaining('declares no record type'),
          expect.stringContaining('Part "a" has no codec'),
          expect.stringContaining('"b" occurs in the row key more than once'),
          expect.stringContaining('salt() is over "nobody"'),
          expect.stringContaining('bucket() is over "c"'),
        ],
      }),
    );
  });

  it.each([
    ['no part', () => compile([literal('x')]), /needs at least one part/],
    ['a record type without its place', () => compile([part('n', uint8)], 3), /has no recordType\(\)/],
    ['a record type that is no byte', () => compile([recordType(), part('n', uint8)], 256), /from 0 to 255/],
    ['a salt over nothing', () => compile([part('n', uint8), salt(3)]), /no part follows it/],
    ['salts of different lengths', () => salt(['a', 'bc']), /same length/],
    [
      'a bucket of texts',
      () => compile([bucket('t', 3), part('t', text)]),
      /bucket\("t", 3\) takes the remainder of whole numbers, bigints and Dates, and "t" is text\. Write salt\(3, \["t"\]\)\./,
    ],
    [
      'a bucket of places',
      () => compile([bucket('t', 3), desc(part('t', geohash(5)))]),
      /"t" is .*geohash\(5\)/,
    ],
    ['equal salts', () => salt(['a', 'a']), /distinct/],
    ['too many salts', () => salt(257), /from 1 to 256/],
    ["Phoenix's salt over some parts", () => salt(4, { algorithm: 'phoenix', over: ['a'] }), /whole key/],
    ['an empty literal', () => literal(''), /empty/],
    ['an unknown width of time', () => timeBucket('at', '1y'), /"1y" is not a width/],
    ['parts of a second in seconds', () => timeBucket('at', '1500ms', { unit: 's' }), /whole seconds/],
    ['a digest longer than it is', () => hash('t', { bytes: 17 }), /from 1 to 16/],
    ['a part without a name', () => part(''), /name/],
    [
      'a foreign codec',
      () => compile([part('t', { name: 'mine', fixedLength: 1 })]),
      /"mine" is not a key codec/,
    ],
    [
      'codecs of another copy of the package',
      () => compile([part('t', { name: 'text', fixedLength: undefined, ...methodsOf(text) })]),
      /"text" is a codec of another copy of rowan-orm.*npm ls rowan-orm/,
    ],
    [
      'a digest of one whole part and one that is not',
      () => compile([hash(['a', 'b']), part('a', uint8)]),
      /either all or none/,
    ],
  ])('%s', (_name, declare, message) => {
    expect(declare).toThrowError(
      expect.objectContaining({ code: 'ERR_SCHEMA', message: expect.stringMatching(message) }),
    );
  });
});

describe('what a layout tells about itself', () => {
  it('has a signature that names everything which changes bytes', () => {
    const layout = compileKeyLayout(
      [
        salt(16, ['c']),
        part('c'),
        recordType(),
        desc(reverse('x')),
        hash('d', { bytes: 2, keep: true }),
        reverseTimestamp('at'),
      ],
      () => text,
      5,
    );
    expect(layout.signature).toBe(
      'salt(16,over c) c:text recordType(5) x:desc(reverse(text)) hash(md5,2,d) d:text at:reverseTimestamp',
    );
    expect(layout.parts.map(({ name, descending, recoverable }) => [name, descending, recoverable])).toEqual([
      ['c', false, true],
      ['x', true, true],
      ['d', false, true],
      ['at', true, true],
    ]);
  });

  it('lists the dictionaries it needs', () => {
    const layout = compile([substitute('host', 'hosts'), part('n', uint8)]);
    expect(layout.substitutions).toEqual([{ part: 'host', dictionary: 'hosts', bytes: 4 }]);
    expect(() => layout.encode({ host: 'a', n: 1 })).toThrowError(/bind the layout/);
  });

  it('takes codecs from emitted types', () => {
    const types: Record<string, unknown> = {
      s: String,
      n: Number,
      b: Boolean,
      d: Date,
      i: BigInt,
      u: Uint8Array,
    };
    const layout = compileKeyLayout(
      [part('s'), part('n'), part('b'), part('d'), part('i'), part('u')],
      (name) => inferKeyCodec(types[name]),
    );
    expect(layout.signature).toBe('s:text n:float64 b:boolean d:date i:int64 u:bytes');
    expect(inferKeyCodec(Object)).toBeUndefined();
  });
});
