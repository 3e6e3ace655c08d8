import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowPacker, RowUnpacker } from '../../../src/store/parallel/packed-rows.js';
import { RawRow } from '../../../src/table/index.js';

const bytes = fc.uint8Array({ maxLength: 80 });
const cell = fc.record({
  family: fc.constantFrom('a', 'b', 'cc'),
  qualifier: fc.oneof(fc.constantFrom(Uint8Array.of(1), Uint8Array.of(2, 3)), bytes),
  timestamp: fc.nat(),
  value: bytes,
});
const rows = fc.array(fc.record({ key: bytes, cells: fc.array(cell, { maxLength: 5 }) }), { maxLength: 120 });

function fill(
  raw: RawRow,
  {
    key,
    cells,
  }: { key: Uint8Array; cells: readonly (typeof cell extends fc.Arbitrary<infer C> ? C : never)[] },
): void {
  raw.begin(key);
  for (const { family, qualifier, timestamp, value } of cells)
    raw.add(family, qualifier, timestamp, value, 0, value.length);
}

/** All that a raw row shows. */
function shown(raw: RawRow): unknown {
  const values = Array.from({ length: raw.count }, (_, i) => [...raw.valueAt(i)]);
  const qualifiers = raw.qualifiers.slice(0, raw.count).map((qualifier) => [...qualifier]);
  return [
    [...raw.row],
    raw.families.slice(0, raw.count),
    qualifiers,
    raw.timestamps.slice(0, raw.count),
    values,
  ];
}

test('rows of any columns are the same after packing, from packer to packer', () => {
  const packer = new RowPacker();
  const [given, read] = [new RawRow(), new RawRow()];
  fc.assert(
    fc.property(rows, (all) => {
      const expected = all.map((row) => {
        fill(given, row);
        packer.add(given);
        return shown(given);
      });
      expect(packer.isEmpty).toBe(all.length === 0);
      const unpacker = new RowUnpacker(structuredClone(packer.take()));
      const found: unknown[] = [];
      while (unpacker.next(read)) found.push(shown(read));
      expect(found).toEqual(expected);
      expect(packer.isEmpty).toBe(true);
    }),
  );
});

test('a packet is full by its bytes and by its rows', () => {
  const packer = new RowPacker();
  const raw = new RawRow();
  fill(raw, { key: new Uint8Array(0), cells: [] });
  let rows = 0;
  for (; !packer.isFull; rows++) packer.add(raw);
  expect(rows).toBe(4096);
  packer.take();
  const value = new Uint8Array(1 << 20);
  fill(raw, {
    key: Uint8Array.of(1),
    cells: [{ family: 'a', qualifier: Uint8Array.of(1), timestamp: 1, value }],
  });
  packer.add(raw);
  expect(packer.isFull).toBe(true);
});
