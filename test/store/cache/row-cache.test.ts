import { expect, test } from 'vitest';
import { SeekKey } from '../../../src/store/cursor.js';
import { PlainEncoder } from '../../../src/store/encoding/plain-encoder.js';
import { RowBuffer, RowCache } from '../../../src/store/row-cache.js';
import { ArrayCursor, cell } from '../file/cells.js';

const FILE = 3;
const HASH = 0x1234567;
/** Of a row in the cache. */
const HEADER_BYTES = 16;
const CELL_HEADER_BYTES = 28;

/** The bytes of a row of one cell, with the table of its offsets. */
function bytesOf(row: string, value: Uint8Array): { bytes: Uint8Array; cellsLength: number } {
  const encoder = new PlainEncoder(false);
  const cursor = new ArrayCursor([cell(row, 'q', 1, value)]);
  cursor.seekToFirst();
  encoder.append(cursor, 0, false);
  const cellsLength = encoder.length;
  encoder.finish();
  return { bytes: encoder.bytes.slice(0, cellsLength + 4), cellsLength };
}

function offer(cache: RowCache, hash: number, row: string, value: Uint8Array): void {
  const { bytes, cellsLength } = bytesOf(row, value);
  cache.offer(FILE, hash, bytes, 0, cellsLength, 1);
}

function find(cache: RowCache, hash: number, row: string): Uint8Array | undefined {
  const into = new RowBuffer();
  const found = cache.find(FILE, hash, new SeekKey().setRow(Buffer.from(row)), into);
  return found ? into.bytes.slice(0, into.cellsLength) : undefined;
}

/** Offers other rows until all of the cache was written `times` times. */
function overwrite(cache: RowCache, times: number): void {
  const value = new Uint8Array(8000);
  for (let i = 0; i < (times * cache.bytes) / value.length; i++)
    for (let again = 0; again < 2; again++) offer(cache, HASH + 7919 * (i + 1), `other${i}`, value);
}

test('a row is kept when it is offered for the second time, once the cache is full', () => {
  const cache = new RowCache(1 << 18);
  overwrite(cache, 2);
  offer(cache, HASH, 'row', Buffer.from('value'));
  expect(find(cache, HASH, 'row')).toBeUndefined();
  offer(cache, HASH, 'row', Buffer.from('value'));
  expect(find(cache, HASH, 'row')).toEqual(bytesOf('row', Buffer.from('value')).bytes.slice(0, -4));
  overwrite(cache, 2);
  expect(find(cache, HASH, 'row')).toBeUndefined();
});

test('rows with one hash, and of another file, are told apart', () => {
  const cache = new RowCache(1 << 18);
  offer(cache, HASH, 'a', Buffer.from('1'));
  offer(cache, HASH, 'b', Buffer.from('2'));
  expect(find(cache, HASH, 'a')).toEqual(bytesOf('a', Buffer.from('1')).bytes.slice(0, -4));
  expect(find(cache, HASH, 'b')).toEqual(bytesOf('b', Buffer.from('2')).bytes.slice(0, -4));
  expect(find(cache, HASH, 'c')).toBeUndefined();
  expect(cache.find(FILE + 1, HASH, new SeekKey().setRow(Buffer.from('a')), new RowBuffer())).toBe(false);
});

test('a value that imitates a row at the place of an overwritten one is not believed', () => {
  const cache = new RowCache(1 << 18);
  const { buffer } = cache as unknown as { buffer: Uint8Array };
  offer(cache, HASH + 1, 'first', new Uint8Array(100));
  offer(cache, HASH, 'row', Buffer.from('value'));
  const from = Buffer.from(buffer.buffer).indexOf('rowq') - CELL_HEADER_BYTES - HEADER_BYTES;
  const image = buffer.slice(from, from + 128);
  // Fills the buffer up to its end, so that the next row begins where the first one did, over both.
  const filler = new Uint8Array(8000).fill(1);
  for (let i = 0; buffer[buffer.length - 8200] === 0; i++)
    offer(cache, HASH + 31 * (i + 3), `filler${i}`, filler);
  const forged = new Uint8Array(8000);
  forged.set(image, from - (HEADER_BYTES + CELL_HEADER_BYTES + 'forgerq'.length));
  for (let again = 0; again < 2; again++) offer(cache, HASH + 2, 'forger', forged);
  expect(buffer.slice(from, from + 128)).toEqual(image);
  expect(find(cache, HASH, 'row')).toBeUndefined();
});
