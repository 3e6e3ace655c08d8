import { describe, expect, test } from 'vitest';
import type { SortedFileCursor } from '../../../src/store/file/sorted-file-cursor.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { scaled } from '../../proof/scale.js';
import { cell, shown } from './cells.js';
import { context, FILE_NO, PATH, reader, write } from './fixture.js';

/** Blocks of which three or four have room. */
const CACHE_BYTES = 8000;

const cells = Array.from({ length: 2000 }, (_, i) =>
  cell(`row${String(i).padStart(6, '0')}`, 'q', 100 + i, `value ${i}`),
);

function everyShown(cursor: SortedFileCursor): string[] {
  const all: string[] = [];
  for (let valid = cursor.seekToFirst(); valid; valid = cursor.next()) all.push(shown(cursor));
  return all;
}

describe('memory of blocks that left the cache', () => {
  test.each(['NONE', 'ROW_INDEX_V1', 'PREFIX', 'FAST_DIFF'] as const)(
    'is not used again while a cursor stands in them (%s)',
    (dataBlockEncoding) => {
      const file = reader(cells, { dataBlockEncoding }, {}, CACHE_BYTES);
      const expected = everyShown(file.cursor());
      const standing = file.cursor();
      const passing = file.cursor();
      standing.seekToFirst();
      for (let at = 0; at < cells.length; at += scaled(331, 97, 97)) {
        while (shown(standing) !== expected[at]) standing.next();
        // All other blocks go through the cache, several times as many as it has room for.
        expect(everyShown(passing)).toEqual(expected);
        expect(shown(standing)).toBe(expected[at]);
      }
      standing.close();
      passing.close();
      expect(everyShown(file.cursor())).toEqual(expected);
      file.close();
    },
  );

  test('is used again once no cursor does', () => {
    const files = context(undefined, CACHE_BYTES);
    write(files.fs, cells);
    const file = SortedFileReader.open(files, PATH, FILE_NO, {});
    const memories = new Set<ArrayBufferLike>();
    const cursor = file.cursor();
    for (let round = 0; round < 3; round++)
      for (let valid = cursor.seekToFirst(); valid; valid = cursor.next()) memories.add(cursor.key.buffer);
    expect(file.meta.dataBlocks).toBeGreaterThan(50);
    expect(memories.size).toBeLessThan(20);
    file.close();
  });
});
