import { describe, expect, test } from 'vitest';
import { DEFAULT_COMPACTION, selectFiles } from '../../../src/store/background/compaction-policy.js';

const settings = { ...DEFAULT_COMPACTION, minSize: 10 };
const files = (...sizes: number[]) => sizes.map((size) => ({ size, reference: false }));

describe('exploring compaction', () => {
  test.each([
    ['too few files', files(20, 20), undefined],
    ['equal files are merged together', files(20, 20, 20, 20), { start: 0, end: 4 }],
    [
      'a file larger than the others together times 1.2 stays out',
      files(1000, 20, 20, 20),
      { start: 1, end: 4 },
    ],
    ['small files need not keep the ratio', files(7, 1, 1), { start: 0, end: 3 }],
    [
      'of two runs with as many files the smaller is taken',
      files(50, 50, 50, 500, 20, 20, 20),
      { start: 4, end: 7 },
    ],
    ['no run keeps the ratio', files(1000, 300, 90), undefined],
    ['at most ten files', files(...Array.from({ length: 12 }, () => 20)), { start: 0, end: 10 }],
  ])('%s', (_, candidates, expected) => {
    expect(selectFiles(candidates, settings)).toEqual(expected);
  });

  test('near the limit of files the cheapest run is merged even against the ratio', () => {
    const sizes = Array.from({ length: 16 }, (_, i) => 4 ** (16 - i));
    expect(selectFiles(files(...sizes), settings)).toEqual({ start: 13, end: 16 });
  });

  test('halves of a parent region come first', () => {
    const candidates = [{ size: 900, reference: true }, { size: 9, reference: true }, ...files(1, 1, 1)];
    expect(selectFiles(candidates, settings)).toEqual({ start: 0, end: 2 });
  });
});
