import { describe, expect, test } from 'vitest';
import { fromLatin1 } from '../../../src/bytes/index.js';
import { InvalidArgumentError } from '../../../src/errors.js';
import { Comparison } from '../../../src/store/filter/compare.js';
import { type Comparator, type CompareOperator, comparators } from '../../../src/table/index.js';

const OPERATORS: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
  'NO_OP',
];

/** The operators that hold for some bytes. */
function holding(text: string, comparator: Comparator): CompareOperator[] {
  // The bytes stand in a longer buffer, as those of cells do.
  const bytes = fromLatin1(`<<${text}>>`);
  return OPERATORS.filter((operator) => new Comparison(operator, comparator).holds(bytes, 2, text.length));
}

const LESS = ['LESS', 'LESS_OR_EQUAL', 'NOT_EQUAL'];
const EQUAL = ['LESS_OR_EQUAL', 'EQUAL', 'GREATER_OR_EQUAL'];
const GREATER = ['NOT_EQUAL', 'GREATER_OR_EQUAL', 'GREATER'];
const int64 = (value: bigint): string => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer.toString('latin1');
};

describe('comparators', () => {
  test.each<[string, string, Comparator, string[]]>([
    ['binary: less', 'a', comparators.binary('b'), LESS],
    ['binary: a prefix is less', 'b', comparators.binary('bb'), LESS],
    ['binary: equal', 'b', comparators.binary('b'), EQUAL],
    ['binary: bytes are unsigned', '\xff', comparators.binary('b'), GREATER],
    ['binary prefix: looks at as many bytes as it has', 'bcd', comparators.binaryPrefix('b'), EQUAL],
    ['binary prefix: shorter bytes are less', 'b', comparators.binaryPrefix('bb'), LESS],
    ['binary component: looks from an offset on', 'xxbyy', comparators.binaryComponent('b', 2), EQUAL],
    ['binary component: greater', 'xxcyy', comparators.binaryComponent('b', 2), GREATER],
    ['binary component: bytes that end before it are less', 'x', comparators.binaryComponent('b', 2), LESS],
    ['long: negative numbers are less', int64(-5n), comparators.long(3n), LESS],
    ['long: equal', int64(3n), comparators.long(3n), EQUAL],
    ['long: greater', int64(2n ** 62n), comparators.long(3n), GREATER],
    ['bit and: a common bit', '\x03', comparators.bit(fromLatin1('\x01'), 'AND'), EQUAL],
    ['bit and: no common bit', '\x02', comparators.bit(fromLatin1('\x01'), 'AND'), LESS],
    ['bit or: any bit', '\x02', comparators.bit(fromLatin1('\x00'), 'OR'), EQUAL],
    ['bit xor: the same bits', '\x02', comparators.bit(fromLatin1('\x02'), 'XOR'), LESS],
    ['bit: another length', '\x01\x01', comparators.bit(fromLatin1('\x01'), 'AND'), LESS],
    ['null: no cell is null', '', comparators.null(), LESS],
    ['regex: anywhere', 'xaby', comparators.regex('a.'), EQUAL],
    ['regex: with flags', 'xABy', comparators.regex('ab', 'i'), EQUAL],
    ['regex: without a match', 'xABy', comparators.regex('ab'), LESS],
    ['regex: bytes are read as UTF-8', 'h\xc3\xa9', comparators.regex('^hé$'), EQUAL],
    ['substring: lower case against lower case', 'HELLO', comparators.substring('eLl'), EQUAL],
    ['substring: absent', 'HELLO', comparators.substring('x'), LESS],
  ])('%s', (_title, text, comparator, expected) => {
    expect(holding(text, comparator)).toEqual(expected);
  });

  test('a long comparator refuses what is no 8-byte integer, and shows it', () => {
    const comparison = new Comparison('EQUAL', comparators.long(1n));
    expect(() => comparison.holds(fromLatin1('abc'), 0, 3)).toThrow(InvalidArgumentError);
    expect(() => comparison.holds(fromLatin1('abc'), 0, 3)).toThrow(/3 bytes \(616263\)/);
  });
});
