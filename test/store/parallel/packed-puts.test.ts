import { expect, test } from 'vitest';
import { compareBytes } from '../../../src/bytes/index.js';
import { PutsPacker } from '../../../src/store/parallel/packed-puts.js';
import { type PackedDerivedPuts, RawRow } from '../../../src/table/index.js';

const column = { family: 'f', qualifier: Buffer.from('a') };
const QUALIFIER = Buffer.from('q');

function packer(maxRows = 1 << 20): PutsPacker {
  return new PutsPacker({
    source: [{ length: 4 }],
    qualifier: QUALIFIER,
    row: [{ bytes: Buffer.from('i') }, { column, value: 'text', ended: true, inverted: false }, 'row'],
    head: Uint8Array.of(1),
    cells: [column],
    maxRows,
  });
}

function rowOf(no: number, value: Uint8Array | undefined): RawRow {
  const [raw, row] = [new RawRow(), Buffer.alloc(4)];
  row.writeUInt32BE(no);
  raw.begin(row);
  if (value !== undefined) raw.add('f', column.qualifier, 1, value, 0, value.length);
  return raw;
}

/** Row and value of each put, in hex. */
function putsOf({ puts }: PackedDerivedPuts): string[] {
  return puts.flatMap(({ rowEnds, valueEnds, bytes }) => {
    expect(Buffer.from(bytes.subarray(0, 1))).toEqual(QUALIFIER);
    expect(valueEnds.at(-1)).toBe(bytes.length);
    const hex = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString('hex');
    return Array.from(
      rowEnds,
      (end, i) => `${hex(i === 0 ? 1 : valueEnds[i - 1]!, end)} ${hex(end, valueEnds[i]!)}`,
    );
  });
}

test('puts are sorted, and divided into steps; a row without the column makes none', () => {
  const packing = packer();
  const expected: string[] = [];
  for (let no = 0; no < 5000; no++) {
    const value = Buffer.from(`${(no * 7919) % 5000}`);
    packing.add(rowOf(no, no % 10 === 0 ? undefined : value));
    const row = Buffer.concat([Buffer.from('i'), value, Uint8Array.of(0, 1), rowOf(no, undefined).row]);
    const stored = Buffer.concat([Uint8Array.of(1, value.length + 1), value]);
    if (no % 10 !== 0) expected.push(`${row.toString('hex')} ${stored.toString('hex')}`);
  }
  const packed = packing.take();
  expect(putsOf(packed)).toEqual(expected.sort());
  expect(packed).toMatchObject({ rows: 5000, last: new Uint8Array(rowOf(4999, undefined).row), others: [] });
  expect(packed.puts.length).toBe(3);
  expect(packing.isEmpty).toBe(true);
  expect(packing.take()).toMatchObject({ rows: 0, bytes: 0, puts: [] });
});

test('large values are divided into steps by their bytes', () => {
  const packing = packer();
  for (let no = 0; no < 3; no++) packing.add(rowOf(no, new Uint8Array(15_000).fill(0x61 + no)));
  expect(putsOf(packing.take()).length).toBe(3);
  let rows = 0;
  while (!packing.isFull && rows < 1000) packing.add(rowOf(rows++, new Uint8Array(15_000).fill(0x61)));
  // Each put has the value twice, and a packet 4 MiB.
  expect(rows).toBe(140);
  expect(packing.take().puts.map(({ rowEnds }) => rowEnds.length).length).toBeGreaterThan(2);
});

test('a packet has no more rows than it may', () => {
  const packing = packer(3);
  for (let no = 0; no < 3; no++) {
    expect(packing.isFull).toBe(false);
    packing.add(rowOf(no, Buffer.from('x')));
  }
  expect(packing.isFull).toBe(true);
});

test('rows of another form, bytes that are no text, and keys that are too long are left to others', () => {
  const packing = packer();
  const short = new RawRow();
  short.begin(Buffer.from('abc'));
  short.add('f', column.qualifier, 1, Buffer.from('x'), 0, 1);
  const wrong = [rowOf(2, Uint8Array.of(0xff)), rowOf(3, new Uint8Array(32_761).fill(0x61)), short];
  packing.add(rowOf(1, Buffer.from('ä')));
  for (const row of wrong) packing.add(row);
  packing.add(rowOf(4, new Uint8Array(32_760).fill(0x61)));
  const { others, puts, rows } = packing.take();
  expect(rows).toBe(5);
  expect(others.map((row) => Buffer.from(row))).toEqual(wrong.map(({ row }) => Buffer.from(row)));
  expect(puts.reduce((sum, { rowEnds }) => sum + rowEnds.length, 0)).toBe(2);
  expect(others.every((row, i) => compareBytes(row, wrong[i]!.row) === 0)).toBe(true);
});
