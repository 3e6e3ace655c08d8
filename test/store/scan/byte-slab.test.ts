import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteSlab } from '../../../src/store/scan/row-builder.js';

const LENGTH = 6000;

/** Bytes that tell where they stand, and in which source. */
function sourceOf(which: number): Uint8Array {
  return Uint8Array.from({ length: LENGTH }, (_, i) => (i * 31 + which * 101 + (i >> 8)) & 0xff);
}

const sources = [sourceOf(0), sourceOf(1)];

const place = fc.record({
  source: fc.nat(1),
  offset: fc.nat(LENGTH - 1),
  length: fc.oneof(fc.nat(64), fc.nat(LENGTH)),
  more: fc.oneof(fc.nat(200), fc.nat(LENGTH)),
  skipped: fc.nat(40),
  rest: fc.nat(300),
});

function overlap(a: Uint8Array, b: Uint8Array): boolean {
  const [from, to] = [b.byteOffset, b.byteOffset + b.length];
  return a.buffer === b.buffer && a.byteOffset < to && a.byteOffset + a.length > from;
}

describe('a slab of copies', () => {
  test('gives what was asked for and leaves it as it is, whatever was copied ahead', () => {
    const operation = fc.record({
      kind: fc.constantFrom('copy', 'ahead', 'next', 'next', 'other', 'end', 'undo'),
      place,
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const slab = new ByteSlab();
        const given: { copy: Uint8Array; expected: Uint8Array }[] = [];
        let last: { source: number; end: number } | undefined;
        for (const { kind, place } of operations) {
          const { source } = place;
          const bytes = sources[source]!;
          const offset = place.offset;
          const length = Math.min(place.length, LENGTH - offset);
          const end = Math.min(LENGTH, offset + length + place.more);
          if (kind === 'undo') {
            const undone = given.pop();
            // Bytes that were asked for twice are given twice: then somebody has received them.
            if (undone && !given.some(({ copy }) => overlap(copy, undone.copy))) slab.undo(undone.copy);
          } else if (kind === 'copy') {
            given.push({
              copy: slab.copy(bytes, offset, length),
              expected: bytes.slice(offset, offset + length),
            });
          } else if (kind === 'other') {
            // Another source, which does not end the use of what was copied ahead.
            const other = sources[1 - (last?.source ?? source)]!;
            given.push({
              copy: slab.copyNext(other, offset, length),
              expected: other.slice(offset, offset + length),
            });
          } else if (kind === 'end') {
            slab.endAhead(place.more);
          } else if (kind === 'ahead') {
            given.push({
              copy: slab.copyAhead(bytes, offset, length, end),
              expected: bytes.slice(offset, offset + length),
            });
            last = { source, end: offset + length };
          } else {
            // What may have been copied ahead, or something else.
            const from = last === undefined ? offset : Math.min(LENGTH, last.end + place.skipped);
            const of = sources[last?.source ?? source]!;
            const count = Math.min(place.rest, LENGTH - from);
            given.push({ copy: slab.copyNext(of, from, count), expected: of.slice(from, from + count) });
          }
        }
        for (const { copy, expected } of given) expect(Buffer.compare(copy, expected)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test('copies a row and its value at once, and takes the room of a value that nobody wanted again', () => {
    const slab = new ByteSlab();
    const cell = sources[0]!;
    const row = slab.copyAhead(cell, 10, 20, 130);
    const value = slab.copyNext(cell, 31, 99);
    expect(value.buffer).toBe(row.buffer);
    expect(value.byteOffset).toBe(row.byteOffset + 21);
    const second = slab.copyAhead(cell, 10, 20, 130);
    const third = slab.copy(cell, 200, 5);
    expect(third.byteOffset).toBe(second.byteOffset + 20);
    // What was copied ahead is gone.
    expect(Buffer.compare(slab.copyNext(cell, 31, 99), cell.subarray(31, 130))).toBe(0);
  });

  test('copies what is before the bytes that were copied ahead', () => {
    const slab = new ByteSlab();
    const bytes = sources[0]!;
    slab.copyAhead(bytes, 100, 20, 500);
    expect(Buffer.compare(slab.copyNext(bytes, 50, 30), bytes.subarray(50, 80))).toBe(0);
  });

  test('copies ahead as much as a row has used, if half of it is values', () => {
    const slab = new ByteSlab();
    const bytes = sources[0]!;
    const used = (ahead: number, ...values: readonly (readonly [at: number, length: number])[]): number => {
      slab.copyAhead(bytes, 100, 20, 120);
      for (const [at, length] of values) slab.copyNext(bytes, 100 + at, length);
      return slab.endAhead(ahead);
    };
    expect(used(0, [50, 100], [200, 100], [350, 100])).toBe(450);
    expect(used(450, [50, 100], [200, 100])).toBe(450 - 19);
    // Values of few bytes lie far apart.
    expect(used(0, [50, 100], [200, 100], [510, 100])).toBe(300);
    expect(used(0, [100, 8], [200, 8])).toBe(0);
    expect(used(0, [50, 5800])).toBe(4096);
    // A row without values, again and again.
    let length = 100;
    for (let i = 0; i < 60; i++) length = used(length);
    expect(length).toBe(0);
  });
});
