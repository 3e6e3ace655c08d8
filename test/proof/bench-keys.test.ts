import { describe, expect, test } from 'vitest';
import { ABSENT, KEY_KINDS, type KeyKindName } from '../bench/store/key-kinds.js';

const ROWS = 2000;

describe.each(Object.keys(KEY_KINDS) as KeyKindName[])('keys of the kind %s', (kind) => {
  const keyOf = KEY_KINDS[kind];
  const present = new Set(Array.from({ length: ROWS }, (_, index) => keyOf(index).toString('hex')));

  test('are each another', () => {
    expect(present.size).toBe(ROWS);
  });

  test('are none of the absent ones, which look alike', () => {
    const absent = Array.from({ length: ROWS }, (_, index) => keyOf(index + ABSENT));
    expect(absent.filter((key) => present.has(key.toString('hex')) || key.length > 300)).toEqual([]);
  });
});
