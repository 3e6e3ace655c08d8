import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import {
  familyFromSchema,
  familyToSchema,
  tableFromSchema,
  tableToSchema,
} from '../../src/hbase/admin/table-codec.js';
import { TableSchema } from '../../src/hbase/wire/messages-admin.js';
import { RegionLocationMessage, ResponseHeader } from '../../src/hbase/wire/messages-rpc.js';
import { ProtoReader } from '../../src/hbase/wire/proto-reader.js';
import { ProtoWriter } from '../../src/hbase/wire/proto-writer.js';
import {
  bigUint64,
  bool,
  bytes,
  decodeMessage,
  encodeMessage,
  float,
  int32,
  int64,
  message,
  nested,
  packed,
  repeated,
  required,
  string,
  uint32,
  uint64,
} from '../../src/hbase/wire/schema.js';
import { tableDescriptor } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';

const Inner = message('Inner', { name: required(string(1)), flags: repeated(bool(3)) });
const Outer = message('Outer', {
  small: uint32(1),
  signed: int32(2),
  large: uint64(3),
  huge: bigUint64(4),
  negative: int64(5),
  flag: bool(6),
  data: bytes(7),
  text: string(8),
  inner: nested(9, Inner),
  inners: repeated(nested(10, Inner)),
  numbers: packed(int64(17)),
  chance: float(2000),
});

/** A list that is empty is not written, and not there when it is read. */
const list = <T>(item: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[] | undefined> =>
  fc.array(item, { maxLength }).map((items) => (items.length === 0 ? undefined : items));
const inner = fc.record({ name: fc.string(), flags: list(fc.boolean(), 4) });
const outer = fc.record({
  small: fc.nat(0xffffffff),
  signed: fc.integer(),
  large: fc.nat(Number.MAX_SAFE_INTEGER),
  huge: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  negative: fc.maxSafeInteger(),
  flag: fc.boolean(),
  data: fc.uint8Array({ maxLength: 300 }),
  text: fc.string(),
  inner,
  inners: list(inner, 3),
  numbers: list(fc.maxSafeInteger(), 5),
  chance: fc.float({ noNaN: true }),
});

describe('messages', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(outer, (value) => {
        const read = decodeMessage(Outer, encodeMessage(Outer, value));
        expect({ ...read, data: Uint8Array.from(read.data!) }).toEqual(value);
      }),
    );
  });

  it('that are cut or changed anywhere are read, or refused with an error of ours', () => {
    fc.assert(
      fc.property(outer, fc.nat(), fc.nat(255), fc.boolean(), (value, at, byte, cut) => {
        let data = encodeMessage(Outer, value);
        if (cut) data = data.subarray(0, at % (data.length + 1));
        else data[at % data.length] = byte;
        try {
          decodeMessage(Outer, data);
        } catch (error) {
          expect(error).toBeInstanceOf(RowanError);
        }
      }),
      { numRuns: scaled(60, 500, 5000) },
    );
  });

  it('may bring fields that nobody knows, and repeated numbers in either form', () => {
    const Newer = message('Newer', { known: uint32(1), more: string(99), last: repeated(int64(17)) });
    const data = encodeMessage(Newer, { known: 5, more: 'x', last: [1, -2] });
    expect(decodeMessage(Outer, data)).toMatchObject({ small: 5, numbers: [1, -2] });
  });

  it('without a required field are refused, and nested ones without end too', () => {
    expect(() => decodeMessage(Inner, new Uint8Array(0))).toThrow(/lacks its field name/);
    expect(decodeMessage(ResponseHeader, new Uint8Array(0)).callId).toBeUndefined();
    expect(() => decodeMessage(RegionLocationMessage, new Uint8Array(0))).toThrow(/lacks its field/);
    const reader = new ProtoReader(new Uint8Array(200).fill(1).fill(199, 0, 1));
    expect(() => {
      for (;;) reader.enter();
    }).toThrow(RowanError);
  });

  it('write numbers in the fewest bytes, also from a buffer that has to grow', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (value) => {
        const writer = new ProtoWriter(1);
        writer.varint(value);
        expect(writer.length).toBe(Math.max(1, Math.ceil(value.toString(2).length / 7)));
        expect(new ProtoReader(writer.view()).varint()).toBe(value);
        expect(new ProtoReader(writer.view()).bigVarint()).toBe(BigInt(value));
      }),
    );
  });
});

describe('descriptors', () => {
  it('come back as they were, with what HBase alone knows kept', () => {
    const table = tableDescriptor(
      'ns:t',
      {
        b: {
          versions: 3,
          ttl: 60,
          compression: 'ZSTD',
          metadata: { IS_MOB: 'true' },
          configuration: { 'hbase.x': '1' },
        },
        a: {},
      },
      {
        maxFileSize: 4 << 20,
        durability: 'SYNC_WAL',
        metadata: { owner: 'me' },
        configuration: { 'hbase.y': '2' },
      },
    );
    const schema = decodeMessage(TableSchema, encodeMessage(TableSchema, tableToSchema(table)));
    expect(tableFromSchema(schema)).toEqual(table);
  });

  it('keep values that have no option of ours, and write them back', () => {
    const attributes = [
      { first: Buffer.from('COMPRESSION'), second: Buffer.from('LZMA') },
      { first: Buffer.from('TTL'), second: Buffer.from('1 DAY') },
      { first: Buffer.from('VERSIONS'), second: Buffer.from('7') },
    ];
    const family = familyFromSchema({ name: Buffer.from('f'), attributes });
    expect(family).toMatchObject({
      versions: 7,
      compression: 'NONE',
      metadata: { COMPRESSION: 'LZMA', TTL: '1 DAY' },
    });
    const again = new Map(
      familyToSchema(family).attributes!.map(({ first, second }) => [String(first), String(second)]),
    );
    expect(again.get('COMPRESSION')).toBe('LZMA');
    expect(again.get('TTL')).toBe('1 DAY');
  });
});
