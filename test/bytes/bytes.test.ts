import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyBytes, copyWords, prefixEnd } from '../../src/bytes/index.js';
import { compileKeyLayout, desc, part, phoenix, timeBucket, uint8 } from '../../src/key/index.js';
import { Scan } from '../../src/table/index.js';

test('the end of a prefix is a new byte string, also of a Buffer', () => {
  for (const prefix of [new Uint8Array([1, 2, 0xff]), Buffer.from([1, 2, 0xff])]) {
    expect([...prefixEnd(prefix)!]).toEqual([1, 3]);
    expect([...prefix]).toEqual([1, 2, 0xff]);
  }
  const scan = new Scan().setStartStopRowForPrefix(Buffer.from('a'));
  expect([scan.startRow, scan.stopRow].map((row) => Buffer.from(row).toString())).toEqual(['a', 'b']);
});

test('a copy shares nothing with what it was made of', () => {
  for (const bytes of [new Uint8Array([1, 2, 3]), Buffer.from([1, 2, 3])]) {
    const copies = [copyBytes(bytes), copyBytes(bytes, 1), copyBytes(bytes, 0, 2)];
    bytes.fill(9);
    expect(copies.map((copy) => [...copy])).toEqual([
      [1, 2, 3],
      [2, 3],
      [1, 2],
    ]);
  }
});

test('words are copied from any offset to any other, and nothing beside them', () => {
  const source = new Uint8Array(600).map((_, i) => i + 1);
  const held = new DataView(source.buffer, 100);
  fc.assert(
    fc.property(fc.nat(9), fc.nat(9), fc.nat(200), (from, at, length) => {
      const target = new Uint8Array(new SharedArrayBuffer(300));
      copyWords(held, from, length, new DataView(target.buffer, 50), at);
      const wanted = new Uint8Array(300);
      wanted.set(source.subarray(100 + from, 100 + from + length), 50 + at);
      expect(target).toEqual(wanted);
    }),
    { numRuns: 200 },
  );
});

test('keys are read from Buffers without changing them', () => {
  const layout = compileKeyLayout(
    [part('ratio', phoenix.double), desc(timeBucket('at', '1d')), part('n', uint8)],
    () => undefined,
  );
  const row = Buffer.from(layout.encode({ ratio: 2.5, at: new Date(1_600_000_000_000), n: 3 }));
  const before = Buffer.from(row).toString('hex');
  const first = layout.decode(row);
  expect(row.toString('hex')).toBe(before);
  expect(layout.decode(row)).toEqual(first);
});
