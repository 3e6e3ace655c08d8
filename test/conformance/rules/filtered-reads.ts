/** R15, R51, R74 and every filter: what scans and gets give through them. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import { comparators, type Filter, filters } from '../../../src/table/index.js';
import { del, get, put, type Query, type RuleCase, scan } from './case.js';

const text = fromLatin1;

/** Three rows; each value says where it stands: row, column, timestamp. */
const families = { f: { versions: 3 }, g: { versions: 3 } } as const;
const writes = [
  put('p', 1, 'a p 1', { row: 'a' }),
  put('q', 2, 'a q 2', { row: 'a' }),
  put('q', 5, 'a q 5', { row: 'a' }),
  put('x', 2, 'a x 2', { row: 'a', family: 'g' }),
  put('q', 1, 'ab q 1', { row: 'ab' }),
  put('p', 3, 'b p 3', { row: 'b' }),
  put('x', 4, 'b x 4', { row: 'b', family: 'g' }),
];
const ALL = ['a p 1', 'a q 5', 'a x 2', 'ab q 1', 'b p 3', 'b x 4'];

function filtered(id: string, title: string, ...queries: Query[]): RuleCase {
  return { id, title, families, writes, queries };
}

function through(filter: Filter, ...expect: string[]): Query {
  return scan({ filter }, expect);
}

function backwards(filter: Filter, ...expect: string[]): Query {
  return scan({ filter, reversed: true }, expect);
}

const missing = { filterIfMissing: true };

export const filteredReads: readonly RuleCase[] = [
  filtered(
    'R15 row',
    'a row filter compares the row with its value',
    through(filters.row('GREATER', 'a'), ...ALL.slice(3)),
    through(filters.row('EQUAL', comparators.substring('B')), ...ALL.slice(3)),
    through(filters.row('NOT_EQUAL', comparators.regex('^a')), 'b p 3', 'b x 4'),
    through(filters.row('NO_OP', 'a')),
  ),
  filtered(
    'R15 prefix',
    'a prefix filter keeps the rows that begin with it',
    through(filters.prefix('a'), ...ALL.slice(0, 4)),
    through(filters.prefix('ab'), 'ab q 1'),
    through(filters.prefix('zzz')),
  ),
  filtered(
    'R15 inclusiveStop',
    'an inclusive stop filter ends the scan behind its row',
    through(filters.inclusiveStop('ab'), ...ALL.slice(0, 4)),
    backwards(filters.inclusiveStop('ab'), 'b p 3', 'b x 4', 'ab q 1'),
  ),
  filtered(
    'R15 fuzzyRow',
    'a fuzzy filter keeps the rows that are equal where the mask is 0',
    through(filters.fuzzyRow([{ row: 'b', mask: Uint8Array.of(0) }]), 'b p 3', 'b x 4'),
    through(filters.fuzzyRow([{ row: '?', mask: Uint8Array.of(1) }]), ...ALL),
  ),
  filtered(
    'R15 multiRowRange',
    'a range filter keeps the rows of its ranges',
    through(
      filters.multiRowRange([
        { startRow: text('a'), startInclusive: false, stopRow: text('ab'), stopInclusive: true },
        { startRow: text('b'), startInclusive: true, stopRow: text('c'), stopInclusive: false },
      ]),
      'ab q 1',
      'b p 3',
      'b x 4',
    ),
  ),
  filtered(
    'R15 random',
    'a random filter passes all rows or none at the ends of its chance',
    through(filters.random(2), ...ALL),
    through(filters.random(-1)),
  ),
  filtered(
    'R15 page',
    'a page filter ends after so many rows',
    through(filters.page(2), ...ALL.slice(0, 4)),
    through(filters.all(filters.row('NOT_EQUAL', 'a'), filters.page(1)), 'ab q 1'),
  ),
  filtered(
    'R15 family',
    'a family filter keeps the families that compare',
    through(filters.family('EQUAL', 'g'), 'a x 2', 'b x 4'),
  ),
  filtered(
    'R15 qualifier',
    'a qualifier filter keeps the columns that compare',
    through(filters.qualifier('LESS_OR_EQUAL', 'p'), 'a p 1', 'b p 3'),
    through(filters.qualifier('EQUAL', comparators.binaryPrefix('x')), 'a x 2', 'b x 4'),
  ),
  filtered(
    'R15 columns',
    'column prefix, prefixes and range filters keep the columns they name',
    through(filters.columnPrefix('q'), 'a q 5', 'ab q 1'),
    through(filters.multipleColumnPrefix(['p', 'x']), 'a p 1', 'a x 2', 'b p 3', 'b x 4'),
    through(filters.columnRange('p', false, 'x', false), 'a q 5', 'ab q 1'),
    through(filters.columnRange('q', true, null, false), 'a q 5', 'a x 2', 'ab q 1', 'b x 4'),
  ),
  filtered(
    'R15 count',
    'filters that count columns count those of every family together',
    get({ row: 'a', filter: filters.columnCount(2) }, ['a p 1', 'a q 5']),
    through(filters.columnPagination(1, 1), 'a q 5', 'b x 4'),
    through(filters.columnPagination(1, text('q')), 'a q 5', 'ab q 1', 'b x 4'),
    through(filters.firstKeyOnly(), 'a p 1', 'ab q 1', 'b p 3'),
  ),
  filtered(
    'R15 value',
    'a value filter keeps the cells that compare, and older versions behind those that do not',
    through(filters.value('NOT_EQUAL', 'a q 5'), 'a p 1', 'a q 2', 'a x 2', 'ab q 1', 'b p 3', 'b x 4'),
    through(filters.value('EQUAL', comparators.binaryComponent('q', 2)), 'a q 5'),
  ),
  filtered(
    'R15 timestamps',
    'a timestamps filter keeps the versions of its times, whatever is newer',
    through(filters.timestamps([2]), 'a q 2', 'a x 2'),
    through(filters.timestamps([1, 4], true), 'a p 1', 'ab q 1', 'b x 4'),
  ),
  filtered(
    'R15 columnValue',
    'a column value filter keeps one column, by its value',
    through(filters.columnValue('f', 'q', 'GREATER', 'a'), 'a q 5', 'ab q 1'),
    through(filters.columnValue('f', 'q', 'EQUAL', 'a q 2'), 'a q 2'),
  ),
  filtered(
    'R15 singleColumnValue',
    'a single column value filter decides over the row, and can take its column out',
    through(filters.singleColumnValue('f', 'q', 'EQUAL', 'a q 5', missing), 'a p 1', 'a q 5', 'a x 2'),
    through(filters.singleColumnValue('f', 'q', 'EQUAL', 'none'), 'b p 3', 'b x 4'),
    through(filters.singleColumnValue('f', 'q', 'EQUAL', 'a q 2', missing)),
    through(
      filters.singleColumnValue('f', 'q', 'EQUAL', 'a q 2', { ...missing, latestVersionOnly: false }),
      'a p 1',
      'a q 5',
      'a x 2',
    ),
    through(filters.singleColumnValueExclude('f', 'q', 'EQUAL', 'a q 5', missing), 'a p 1', 'a x 2'),
  ),
  filtered(
    'R15 dependentColumn',
    'a dependent column filter keeps the cells that share a time with one of its column',
    scan({ filter: filters.dependentColumn('g', 'x'), versions: 'all' }, ['a q 2', 'a x 2', 'b x 4']),
    scan({ filter: filters.dependentColumn('g', 'x', { dropDependentColumn: true }), versions: 'all' }, [
      'a q 2',
    ]),
  ),
  filtered(
    'R15 keyOnly',
    'a key only filter gives no values, or their lengths',
    scan(
      { filter: filters.keyOnly(), stop: ['c', false] },
      ALL.map(() => ''),
    ),
    get({ row: 'ab', filter: filters.keyOnly(true) }, ['\x00\x00\x00\x06']),
  ),
  filtered(
    'R15 while and skip',
    'while ends the scan at the first cell that fails, skip drops the row of one',
    through(filters.while(filters.value('LESS', 'a r')), 'a p 1', 'a q 5'),
    through(filters.skip(filters.qualifier('NOT_EQUAL', 'q')), 'b p 3', 'b x 4'),
    // HBase does not tell a wrapped filter that the scan is reversed: its stop row lies ahead for ever.
    backwards(filters.while(filters.inclusiveStop('zzz')), 'b p 3', 'b x 4', 'ab q 1', ...ALL.slice(0, 3)),
  ),
  filtered(
    'R15 lists',
    'lists keep what passes all filters, or one',
    through(filters.all(filters.prefix('a'), filters.qualifier('EQUAL', 'q')), 'a q 5', 'ab q 1'),
    through(
      filters.any(filters.row('EQUAL', 'b'), filters.qualifier('EQUAL', 'p')),
      'a p 1',
      'b p 3',
      'b x 4',
    ),
    through(filters.all(filters.value('NOT_EQUAL', 'a q 5'), filters.columnCount(1)), 'a p 1'),
    through(filters.all(), ...ALL),
    through(filters.any(), ...ALL),
  ),
  {
    id: 'R15 hint',
    title:
      'as in HBase, a filter that seeks on from the empty column passes over markers of the family behind it',
    writes: [put('', 9, 'before'), put('x', 1, 'deleted'), del('family', '', 5)],
    // What the flush has dropped is gone for every read.
    queries: [
      get({ filter: filters.columnPrefix('x') }, ['deleted'], {
        flushEnd: [],
        minor: [],
        major: [],
        split: [],
      }),
      get({}, ['before']),
    ],
  },
];
