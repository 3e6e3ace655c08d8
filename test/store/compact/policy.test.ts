import { describe, expect, test } from 'vitest';
import {
  compactionSettingsOf,
  DEFAULT_COMPACTION,
  selectFiles,
} from '../../../src/store/background/compaction-policy.js';
import { createTable, memoryStore, put } from '../engine/support.js';

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

  test.each([
    ['table', { 'hbase.hstore.compaction.min': '4', 'hbase.hstore.compaction.ratio': '5.5' }, {}],
    ['family', {}, { 'hbase.hstore.compaction.min': '4', 'hbase.hstore.compaction.ratio': '5.5' }],
    [
      'family before those of the table',
      { 'hbase.hstore.compaction.min': '2' },
      { 'hbase.hstore.compaction.min': '4' },
    ],
  ])('settings of a %s take the place of the store’s', async (_, ofTable, ofFamily) => {
    const { engine } = await memoryStore();
    const table = await createTable(engine, { f: { configuration: ofFamily } }, { configuration: ofTable });
    const files = (): number => engine.stats().tables[0]!.regions[0]!.families[0]!.files;
    for (const [row, left] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 1],
    ] as const) {
      await table.put(put(row, 'v'));
      await engine.admin.flush('t');
      await engine.admin.compact('t');
      expect(files()).toBe(left);
    }
    await engine.close();
  });

  test('settings that are no numbers or too low are passed over', () => {
    const names = ['min', 'max', 'min.size', 'max.size'].map((name) => `hbase.hstore.compaction.${name}`);
    const odd = Object.fromEntries(names.map((name, i) => [name, i % 2 === 0 ? 'many' : '-1']));
    expect(compactionSettingsOf(settings, odd)).toEqual(settings);
  });

  test('halves of a parent region come first', () => {
    const candidates = [{ size: 900, reference: true }, { size: 9, reference: true }, ...files(1, 1, 1)];
    expect(selectFiles(candidates, settings)).toEqual({ start: 0, end: 2 });
  });
});
