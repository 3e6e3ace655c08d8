import { expect, test } from 'vitest';
import { hashRow, lane1, lane2 } from '../../../src/store/encoding/row-hash.js';
import { RowFilter } from '../../../src/store/memstore/row-filter.js';

function hashOf(text: string): [number, number] {
  const row = Buffer.from(text);
  hashRow(row, 0, row.length);
  return [lane1, lane2];
}

test.each([1, 1024, 1025, 5120, 5121, 40_000])('of %i rows it knows each, and few others', (count) => {
  const filter = new RowFilter();
  expect(filter.mayContain(...hashOf('row0'))).toBe(false);
  for (let i = 0; i < count; i++) filter.add(...hashOf(`row${i}`));
  for (let i = 0; i < count; i++) expect(filter.mayContain(...hashOf(`row${i}`))).toBe(true);
  let passed = 0;
  for (let i = 0; i < 10_000; i++) if (filter.mayContain(...hashOf(`other${i}`))) passed++;
  expect(passed).toBeLessThan(1500);
});
