import { describe, expect, test } from 'vitest';
import { toHex } from '../../src/bytes/index.js';
import { checkSplitKeys, splitKeys } from '../../src/table/index.js';

const texts = (keys: Uint8Array[]) => keys.map((key) => Buffer.from(key).toString('latin1'));

describe('pre-split algorithms', () => {
  test('HexStringSplit', () => {
    expect(texts(splitKeys('HexStringSplit', 4))).toEqual(['40000000', '80000000', 'c0000000']);
    expect(texts(splitKeys('HexStringSplit', 16))[14]).toBe('f0000000');
    expect(texts(splitKeys('HexStringSplit', 3))).toEqual(['55555555', 'aaaaaaaa']);
  });

  test('DecimalStringSplit', () => {
    expect(texts(splitKeys('DecimalStringSplit', 3))).toEqual(['33333333', '66666666']);
  });

  test('UniformSplit', () => {
    expect(splitKeys('UniformSplit', 4).map(toHex)).toEqual([
      '4000000000000000',
      '8000000000000000',
      'c000000000000000',
    ]);
    expect(splitKeys('UniformSplit', 10).map(toHex)[0]).toBe('1999999999999999');
  });

  test('one region has no split, and bad keys are refused', () => {
    expect(splitKeys('UniformSplit', 1)).toEqual([]);
    expect(() => splitKeys('UniformSplit', 0)).toThrow(/positive integer/);
    expect(() => checkSplitKeys([Uint8Array.of(2), Uint8Array.of(2)])).toThrow(/strictly increasing/);
    expect(() => checkSplitKeys([new Uint8Array(0)])).toThrow(/empty/);
  });
});
