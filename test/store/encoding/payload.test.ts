/** Block payloads by themselves: sizes, restarts, and hostile bytes given to the parsers. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptionError } from '../../../src/errors.js';
import {
  createDecoder,
  createEncoder,
  ENCODING_IDS,
  encodingOfId,
  parseBlock,
} from '../../../src/store/encoding/index.js';
import { LastKey } from '../../../src/store/file/index-key.js';
import { DATA_BLOCK_ENCODINGS, type DataBlockEncoding } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { ArrayCursor, anyCells, cell, type TestCell } from '../file/cells.js';

function encode(encoding: DataBlockEncoding, cells: readonly TestCell[]): Uint8Array {
  const encoder = createEncoder(encoding);
  const last = new LastKey();
  const cursor = new ArrayCursor(cells);
  let inOrder = true;
  for (cursor.seekToFirst(); cursor.valid; cursor.next()) {
    inOrder &&= last.advance(cursor);
    encoder.append(cursor, last.sharedRow, last.sameRow, last.sharedQualifier);
  }
  expect(inOrder).toBe(true);
  encoder.finish();
  return encoder.bytes.slice(0, encoder.length);
}

/** Walks a payload; the number of its cells. */
function walk(encoding: DataBlockEncoding, payload: Uint8Array): number {
  const block = parseBlock(encoding, payload, 0, payload.length);
  const decoder = createDecoder(encoding);
  const cursor = new ArrayCursor([]);
  decoder.open(cursor, block);
  decoder.first(cursor);
  let cells = 1;
  let within = true;
  while (decoder.next(cursor)) {
    cells++;
    within &&=
      cursor.rowOffset + cursor.rowLength <= cursor.key.length &&
      cursor.qualifierOffset + cursor.qualifierLength <= cursor.key.length &&
      cursor.valueOffset + cursor.valueLength <= cursor.value.length;
  }
  expect(within, 'what the cursor tells of lies within its bytes').toBe(true);
  decoder.last(cursor);
  decoder.lastBefore(cursor, Buffer.from('m'));
  return cells;
}

describe.each(DATA_BLOCK_ENCODINGS)('the encoding %s', (encoding) => {
  test('meets damaged and invented payloads with a corruption error, or reads within their bounds', () => {
    const check = (payload: Uint8Array): void => {
      try {
        walk(encoding, payload);
      } catch (error) {
        if (!(error instanceof CorruptionError)) throw error;
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check), { numRuns: scaled(100, 1000, 100_000) });
    fc.assert(
      fc.property(
        anyCells(40),
        fc.array(fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 16, 127, 255))), {
          maxLength: 4,
        }),
        fc.nat(),
        (cells, changes, cut) => {
          const payload = encode(encoding, cells);
          for (const [at, value] of changes) payload[at % payload.length] = value;
          check(changes.length === 0 ? payload.subarray(0, cut % payload.length) : payload);
        },
      ),
      { numRuns: scaled(50, 500, 50_000) },
    );
  });

  test('begins every block anew', () => {
    const encoder = createEncoder(encoding);
    const last = new LastKey();
    const cells = Array.from({ length: 40 }, (_, i) => cell('row', `q${10 + i}`, 5, 'same value'));
    const cursor = new ArrayCursor(cells);
    const lengths: number[] = [];
    for (cursor.seekToFirst(); cursor.valid; cursor.next()) {
      last.advance(cursor);
      encoder.append(cursor, last.sharedRow, last.sameRow, last.sharedQualifier);
      if (encoder.count < 20) continue;
      encoder.finish();
      expect(walk(encoding, encoder.bytes.slice(0, encoder.length))).toBe(20);
      lengths.push(encoder.length);
      encoder.reset();
    }
    expect(lengths).toHaveLength(2);
    expect(lengths[0]).toBe(lengths[1]);
  });

  test('has the code that stands in block headers', () => {
    expect(encodingOfId(ENCODING_IDS[encoding])).toBe(encoding);
    expect(ENCODING_IDS).toEqual({ NONE: 0, PREFIX: 1, DIFF: 2, FAST_DIFF: 3, ROW_INDEX_V1: 4 });
  });
});

test('the encodings that are to save room save it', () => {
  const cells: TestCell[] = [];
  for (let i = 0; i < 200; i++)
    for (const column of ['city', 'name', 'status'])
      cells.push(
        cell(`customer${String(i).padStart(8, '0')}`, column, 1_700_000_000_000 + i, 'active', {
          seq: i + 1,
        }),
      );
  const length = Object.fromEntries(
    DATA_BLOCK_ENCODINGS.map((encoding) => [encoding, encode(encoding, cells).length]),
  ) as Record<DataBlockEncoding, number>;
  expect(length.ROW_INDEX_V1).toBeLessThan(length.NONE * 0.9);
  expect(length.PREFIX).toBeLessThan(length.NONE * 0.6);
  expect(length.DIFF).toBeLessThan(length.PREFIX * 0.7);
  expect(length.FAST_DIFF).toBeLessThan(length.DIFF * 0.8);
});
