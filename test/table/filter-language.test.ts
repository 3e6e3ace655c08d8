import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { comparators, FILTER_NAMES, type Filter, filters, parseFilter } from '../../src/table/index.js';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

test.each<[string, Filter]>([
  ["PrefixFilter('a')", filters.prefix(bytes('a'))],
  [" PrefixFilter ( 'it''s' ) ", filters.prefix(bytes("it's"))],
  ["RowFilter(>=, 'binaryprefix:a:b')", filters.row('GREATER_OR_EQUAL', comparators.binaryPrefix('a:b'))],
  ["ValueFilter(!=, 'regexstringnocase:^a')", filters.value('NOT_EQUAL', comparators.regex('^a', 'si'))],
  ["ColumnRangeFilter('', TRUE, 'b', false)", filters.columnRange(null, true, bytes('b'), false)],
  ['TimestampsFilter(3, 1)', filters.timestamps([1, 3])],
  ['KeyOnlyFilter()', filters.keyOnly()],
  [
    "SingleColumnValueFilter('f', 'q', <, 'binary:5', true, false)",
    filters.singleColumnValue('f', 'q', 'LESS', bytes('5'), {
      filterIfMissing: true,
      latestVersionOnly: false,
    }),
  ],
  [
    "DependentColumnFilter('f', 'q', true, =, 'substring:X')",
    filters.dependentColumn('f', 'q', {
      dropDependentColumn: true,
      operator: 'EQUAL',
      value: comparators.substring('x'),
    }),
  ],
  [
    'PageFilter(1) OR PageFilter(2) AND SKIP PageFilter(3) AND (PageFilter(4) OR WHILE PageFilter(5))',
    filters.any(
      filters.page(1),
      filters.all(
        filters.page(2),
        filters.skip(filters.page(3)),
        filters.any(filters.page(4), filters.while(filters.page(5))),
      ),
    ),
  ],
])('%s', (text, filter) => {
  expect(parseFilter(text)).toEqual(filter);
});

test('bytes that are no UTF-8 are taken as they are', () => {
  const text = Buffer.from("PrefixFilter('\xff\x00')", 'latin1');
  expect(parseFilter(text)).toEqual(filters.prefix(Uint8Array.of(0xff, 0)));
});

test('every filter that is listed can be written', () => {
  for (const name of FILTER_NAMES) {
    expect(() => parseFilter(`${name}(1, 2, 3, 4, 5, 6, 7)`), name).not.toThrow('not supported');
  }
});

test('whatever stands in a quoted argument comes back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 20 }), (value) => {
      const quoted = Buffer.from(value).toString('latin1').replaceAll("'", "''");
      const text = Buffer.from(`ColumnPrefixFilter('${quoted}')`, 'latin1');
      expect(parseFilter(text)).toEqual(filters.columnPrefix(value));
    }),
  );
});

test('any other text is refused by an error of Rowan, never by another', () => {
  const word = fc.constantFrom(
    'AND',
    'OR',
    'SKIP',
    '(',
    ')',
    ',',
    "'a'",
    'PageFilter',
    '1',
    '=',
    'true',
    "'",
    ' ',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      try {
        parseFilter(words.join(' '));
      } catch (error) {
        expect(error).toBeInstanceOf(RowanError);
      }
    }),
  );
  expect(() => parseFilter('('.repeat(100_000))).toThrow(RowanError);
});
