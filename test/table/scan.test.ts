import fc from 'fast-check';
import { expect, test } from 'vitest';
import { filters, Scan, TimeRange } from '../../src/table/index.js';

const bytes = fc.uint8Array({ maxLength: 4 });
/** Every field of a scan, so that one that is added is missed here until it is copied. */
const fields = {
  familyTimeRanges: fc.constant(new Map([['d', new TimeRange(1, 5)]])),
  timeRange: fc.constant(new TimeRange(3, 9)),
  maxVersions: fc.integer({ min: 1, max: 9 }),
  filter: fc.constant(filters.page(3)),
  cacheBlocks: fc.boolean(),
  consistency: fc.constantFrom('STRONG' as const, 'TIMELINE' as const),
  maxResultsPerColumnFamily: fc.integer({ min: 1, max: 9 }),
  rowOffsetPerColumnFamily: fc.integer({ min: 1, max: 9 }),
  startRow: bytes,
  includeStartRow: fc.boolean(),
  stopRow: bytes,
  includeStopRow: fc.boolean(),
  reversed: fc.boolean(),
  raw: fc.boolean(),
  writtenAfter: fc.nat(9),
  limit: fc.integer({ min: 1, max: 9 }),
  batch: fc.integer({ min: 1, max: 9 }),
  caching: fc.integer({ min: 1, max: 9 }),
  maxResultSize: fc.integer({ min: 1, max: 9 }),
  authorizations: fc.constant(['secret']),
  expectedFamilies: fc.constant(['d', 'e']),
};

test('a copy asks for the same, and what is done to one of the two does not change the other', () => {
  const asked = fc.array(
    fc.tuple(fc.constantFrom('d', 'e'), fc.option(fc.constantFrom('a', 'b'), { nil: undefined })),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(fc.record(fields, { requiredKeys: [] }), asked, (given, columns) => {
      const scan = Object.assign(new Scan(), given);
      for (const [family, column] of columns) {
        if (column === undefined) scan.addFamily(family);
        else scan.addColumn(family, column);
      }
      const copy = scan.copy();
      expect(copy).toStrictEqual(scan);
      const before = JSON.stringify([...scan.copy().families]);
      copy.addColumn('d', 'new').addFamily('f');
      expect(JSON.stringify([...scan.copy().families])).toBe(before);
    }),
    { numRuns: 100 },
  );
  const known = new Set([...Object.keys(fields), 'columnsByFamily', 'onlyFamily', 'onlyColumn']);
  expect(Object.keys(new Scan()).filter((name) => !known.has(name))).toEqual([]);
});
