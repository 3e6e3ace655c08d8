import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/index.js';
import { regionNameOf } from '../../src/hbase/region/region.js';
import { Call } from '../../src/hbase/rpc/call.js';
import { AuthCode } from '../../src/hbase/rpc/connection-settings.js';
import { writeFrame } from '../../src/hbase/rpc/frames.js';
import { connectionHeader, preamble } from '../../src/hbase/rpc/handshake.js';
import { CellReader, writeCell } from '../../src/hbase/wire/cell-codec.js';
import { writeMutation, writeMutationCells } from '../../src/hbase/wire/encode-mutation.js';
import { writeGet, writeScan } from '../../src/hbase/wire/encode-query.js';
import { encodeFilter, filterMessage } from '../../src/hbase/wire/filter-codec.js';
import { RegionSpecifier, ResponseHeader } from '../../src/hbase/wire/messages-rpc.js';
import { ProtoWriter } from '../../src/hbase/wire/proto-writer.js';
import { decodeMessage, encodeMessage } from '../../src/hbase/wire/schema.js';
import {
  CellType,
  comparators,
  filters,
  Get,
  Increment,
  LATEST_TIMESTAMP,
  Put,
  Scan,
} from '../../src/table/index.js';

/** Bytes computed from HBase 2.6's own `.proto` files with another implementation. Spaces are for the reader. */
const golden = (hex: string): string => hex.replace(/\s/g, '');

function written(write: (writer: ProtoWriter) => void): string {
  const writer = new ProtoWriter(16);
  write(writer);
  return toHex(writer.view());
}

const ascii = (text: string): string => toHex(Buffer.from(text, 'latin1'));

class GetCall extends Call {
  override onResponse(): void {}
  override onError(): void {}
  override writeParam(writer: ProtoWriter): void {
    const mark = writer.mark();
    writeGet(writer, new Get('r1').addColumn('f', 'q'), false);
    writer.endMessage(18, mark);
    const region = regionNameOf('t', new Uint8Array(0), 1700000000000);
    writer.bytesField(10, encodeMessage(RegionSpecifier, { type: 1, value: region }));
  }
}

describe('bytes on the wire', () => {
  it('says hello', () => {
    const hello = toHex(preamble(AuthCode.Simple)) + toHex(connectionHeader('orm', 'ClientService'));
    expect(hello).toBe(
      golden(`48426173 00 50 0000005f 0a050a036f726d 120d436c69656e7453657276696365
        1a2b6f72672e6170616368652e6861646f6f702e68626173652e636f6465632e4b657956616c7565436f646563
        2a1a0a05322e362e3512012d1a012d22012d2a012d32012d38024006`),
    );
  });

  it('frames a get', () => {
    const region = ascii('t,,1700000000000.3e7c693fad145c1b69daad40c4b268c6.');
    expect(written((writer) => writeFrame(writer, new GetCall('Get', 60_000), 1, undefined))).toBe(
      golden(
        `00000057 0d 08011a03476574200138e0d403 48 0a360801 1232 ${region} 120e 0a027231 1206 0a0166 120171 3001`,
      ),
    );
  });

  it('lays out a cell', () => {
    const cell = written((writer) =>
      writeCell(
        writer,
        Buffer.from('r1'),
        Buffer.from('f'),
        Buffer.from('q'),
        LATEST_TIMESTAMP,
        CellType.Put,
        Buffer.from('v'),
      ),
    );
    expect(cell).toBe(golden('00000019 00000010 00000001 0002 7231 01 66 71 7fffffffffffffff 04 76'));
  });

  it('writes a put with a time to live', () => {
    const put = new Put('r1').addColumn('f', 'q', 'v').setTtl(1000);
    const mutation = written((writer) => writeMutation(writer, put, 0n));
    expect(mutation).toBe(
      golden('0a027231 1002 20ffffffffffffffff7f 2a10 0a045f74746c 1208 00000000000003e8 3000 4001'),
    );
  });

  it('writes an increment with its nonce, and its amount as the cell', () => {
    const increment = new Increment('r').addColumn('f', 'q', -2n).setReturnResults(false);
    const mutation = written((writer) => writeMutation(writer, increment, 2n ** 64n - 1n));
    expect(mutation).toBe(
      golden('0a0172 1001 20ffffffffffffffff7f 2a09 0a045f72725f 120100 3000 4001 48ffffffffffffffffff01'),
    );
    const cell = written((writer) => writeMutationCells(writer, increment));
    expect(cell).toBe(
      golden('0000001f 0000000f 00000008 0001 72 01 66 71 7fffffffffffffff 04 fffffffffffffffe'),
    );
  });

  it('writes filters by their Java class', () => {
    expect(toHex(encodeFilter(filters.prefix('ab')))).toBe(
      golden(`0a2b 6f72672e6170616368652e6861646f6f702e68626173652e66696c7465722e50726566697846696c746572
        1204 0a026162`),
    );
    const single = filterMessage(
      filters.singleColumnValue('f', 'q', 'EQUAL', 'v', { filterIfMissing: true, latestVersionOnly: true }),
    );
    const comparator = ascii('org.apache.hadoop.hbase.filter.BinaryComparator');
    expect(toHex(single.serialized!)).toBe(
      golden(`0a0166 120171 1802 2238 0a2f ${comparator} 1205 0a030a0176 2801 3001`),
    );
    expect(single.name).toBe('org.apache.hadoop.hbase.filter.SingleColumnValueFilter');
  });

  it('writes the scan that looks a region up', () => {
    const scan = new Scan()
      .setReversed(true)
      .withStartRow('t,r1,99999999999999')
      .withStopRow('t,,', true)
      .addFamily('info');
    const at = {
      startRow: scan.startRow,
      includeStartRow: true,
      maxResultSize: 1024,
      caching: 10,
      readType: 2,
    };
    expect(written((writer) => writeScan(writer, scan, at))).toBe(
      golden(`0a06 0a04 696e666f 1a13 742c72312c3939393939393939393939393939 2203 742c2c
        3801 4001 508008 7801 88010a a80101 b00101 b80102`),
    );
  });

  it('computes region names', () => {
    const name = (replica: number): string =>
      Buffer.from(regionNameOf('t', new Uint8Array(0), 1700000000000, replica)).toString('latin1');
    expect(name(0)).toBe('t,,1700000000000.3e7c693fad145c1b69daad40c4b268c6.');
    expect(name(1)).toBe('t,,1700000000000_0001.0b6919c0e7cdf7af3543d0fdbe425ca5.');
    expect(Buffer.from(regionNameOf('hbase:meta', new Uint8Array(0), 1)).toString()).toBe('hbase:meta,,1');
  });

  it('reads the header of an answer about the connection', () => {
    expect(decodeMessage(ResponseHeader, fromHex('08ffffffff0f')).callId).toBe(0xffffffff);
  });
});

describe('cells that come back', () => {
  const cellBlock = (hex: string): CellReader => {
    const reader = new CellReader();
    const data = fromHex(golden(hex));
    reader.reset(data, 0, data.length, 100);
    return reader;
  };

  it('are views with their parts', () => {
    const [cell] = cellBlock('00000019 00000010 00000001 0002 7231 01 66 71 0000018bcfe56800 04 76').read(1);
    expect(cell).toMatchObject({ family: 'f', timestamp: 1700000000000, type: CellType.Put });
    expect(Buffer.from(cell!.row).toString()).toBe('r1');
    expect(Buffer.from(cell!.qualifier).toString()).toBe('q');
    expect(Buffer.from(cell!.value).toString()).toBe('v');
  });

  it('of one row share its bytes', () => {
    const one = '00000019 00000010 00000001 0002 7231 01 66 71 0000018bcfe56800 04 76';
    const [a, b] = cellBlock(one + one).read(2);
    expect(a!.row).toBe(b!.row);
  });

  it('are refused when their timestamp is above 2^53-2, after the others were passed over', () => {
    const bad = '00000019 00000010 00000001 0002 7231 01 66 71 001fffffffffffff 04 76';
    const good = '00000019 00000010 00000001 0002 7232 01 66 71 001ffffffffffffe 04 77';
    const reader = cellBlock(bad + good + good);
    expect(() => reader.read(2)).toThrow(expect.objectContaining({ code: 'ERR_CODEC' }));
    expect(reader.read(1)[0]!.timestamp).toBe(2 ** 53 - 2);
  });

  it('are refused when they are broken', () => {
    const refuse = (hex: string, count = 1): void =>
      expect(() => cellBlock(hex).read(count)).toThrow(expect.objectContaining({ code: 'ERR_CORRUPTION' }));
    refuse('00000019 00000010 00000001 0002 7231 01 66 71 0000018bcfe56800 04'); // cut
    refuse('00000019 00000010 00000001 0012 7231 01 66 71 0000018bcfe56800 04 76'); // row too long
    refuse('00000019 00000010 00000001 0002 7231 7f 66 71 0000018bcfe56800 04 76'); // family too long
    refuse('00000019 00000010 00000001 0002 7231 01 66 71 0000018bcfe56800 05 76'); // no such type
    refuse('00000019 00000010 7fffffff 0002 7231 01 66 71 0000018bcfe56800 04 76'); // value too long
    refuse('00000019 00000010 00000001 0002 7231 01 66 71 0000018bcfe56800 04 76', 1_000_000_000);
  });
});

describe('every filter and comparator', () => {
  const value = Buffer.from('x');
  const all = [
    filters.row('LESS', comparators.binary(value)),
    filters.family('EQUAL', comparators.binaryPrefix(value)),
    filters.qualifier('NOT_EQUAL', comparators.substring('x')),
    filters.value('GREATER', comparators.long(5n)),
    filters.value('EQUAL', comparators.regex('^x', 'is')),
    filters.value('EQUAL', comparators.null()),
    filters.value('EQUAL', comparators.bit(value, 'XOR')),
    filters.value('EQUAL', comparators.binaryComponent(value, 3)),
    filters.prefix(value),
    filters.singleColumnValue('f', 'q', 'EQUAL', value),
    filters.singleColumnValueExclude('f', 'q', 'EQUAL', value),
    filters.columnValue('f', 'q', 'LESS_OR_EQUAL', value),
    filters.dependentColumn('f', 'q', { dropDependentColumn: true, value: 'v', operator: 'NOT_EQUAL' }),
    filters.dependentColumn('f', 'q'),
    filters.columnRange('a', true, null, false),
    filters.columnPrefix('p'),
    filters.multipleColumnPrefix(['a', 'b']),
    filters.columnPagination(3, 4),
    filters.columnPagination(3, 'c'),
    filters.columnCount(2),
    filters.page(10),
    filters.keyOnly(true),
    filters.firstKeyOnly(),
    filters.inclusiveStop('r'),
    filters.fuzzyRow([{ row: 'ab', mask: Uint8Array.of(0, 1) }]),
    filters.multiRowRange([
      { startRow: value, startInclusive: true, stopRow: Buffer.from('y'), stopInclusive: false },
    ]),
    filters.timestamps([1, 2], true),
    filters.random(0.25),
    filters.while(filters.prefix('a')),
    filters.skip(filters.prefix('a')),
    filters.all(filters.prefix('a'), filters.any(filters.page(1))),
  ];

  it('names a class of its own and encodes', () => {
    const names = all.map((filter) => filterMessage(filter).name);
    for (const name of names) expect(name).toMatch(/^org\.apache\.hadoop\.hbase\.filter\.[A-Z]\w+$/);
    expect(new Set(all.map((filter) => filter.kind)).size).toBe(25);
    expect(new Set(names).size).toBe(25);
  });

  it('compares components of rows so that a row that ends before them is no error', () => {
    const component = comparators.binaryComponent(Uint8Array.of(0x78, 0xff), 3);
    const textOf = (operator: 'EQUAL' | 'LESS'): string =>
      Buffer.from(encodeFilter(filters.row(operator, component))).toString('latin1');
    expect(textOf('EQUAL')).toMatch(/filter\.RegexStringComparator.*\^\.\{3\}\\x78\\xff.*ISO-8859-1/s);
    expect(textOf('LESS')).toMatch(/filter\.BinaryComponentComparator/);
  });

  it('has its own bytes, without a word of another', () => {
    const bytes = all.map((filter) => toHex(encodeFilter(filter)));
    expect(new Set(bytes).size).toBe(all.length);
  });
});
