import { expect, test } from 'vitest';
import { copyBytes, prefixEnd } from '../../src/bytes/index.js';
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
