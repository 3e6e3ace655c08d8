import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../src/bytes/index.js';
import { RegionCache } from '../../src/hbase/region/locator.js';
import { Region, regionNameOf } from '../../src/hbase/region/region.js';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

function region(start: string, end: string, regionId: number, seqNum = 1, port = 1): Region {
  const startKey = bytes(start);
  const name = regionNameOf('t', startKey, regionId);
  return new Region('t', startKey, bytes(end), regionId, 0, name, { host: 'h', port }, 1, seqNum);
}

describe('the region cache', () => {
  it('finds the region of a row at its edges and between', () => {
    const cache = new RegionCache();
    const [first, middle, last] = [region('', 'd', 1), region('d', 'm', 1), region('m', '', 1)];
    for (const known of [last, first, middle]) cache.insert(known!);
    expect(cache.find('t', bytes('a'))).toBe(first);
    expect(cache.find('t', bytes(''))).toBe(first);
    expect(cache.find('t', bytes('d'))).toBe(middle);
    expect(cache.find('t', bytes('lzz'))).toBe(middle);
    expect(cache.find('t', bytes('m'))).toBe(last);
    expect(cache.find('t', bytes('zzz'))).toBe(last);
    expect(cache.find('u', bytes('a'))).toBeUndefined();
  });

  it('finds what lies before a row, and the last region', () => {
    const cache = new RegionCache();
    const [first, middle, last] = [region('', 'd', 1), region('d', 'm', 1), region('m', '', 1)];
    for (const known of [first, middle, last]) cache.insert(known!);
    expect(cache.findBefore('t', bytes('d'))).toBe(first);
    expect(cache.findBefore('t', bytes('da'))).toBe(middle);
    expect(cache.findBefore('t', bytes('m'))).toBe(middle);
    expect(cache.findBefore('t', bytes(''))).toBe(last);
    cache.remove(last!);
    expect(cache.findBefore('t', bytes(''))).toBeUndefined();
    expect(cache.findBefore('t', bytes('z'))).toBeUndefined();
  });

  it('puts daughters in the place of their parent, and never the parent back', () => {
    const cache = new RegionCache();
    const parent = region('', '', 1);
    const [left, right] = [region('', 'm', 2), region('m', '', 2)];
    cache.insert(parent);
    cache.insert(left!);
    expect(cache.find('t', bytes('z'))).toBeUndefined();
    cache.insert(right!);
    cache.insert(parent);
    expect(cache.find('t', bytes('a'))).toBe(left);
    expect(cache.find('t', bytes('z'))).toBe(right);
    const merged = region('', '', 3);
    cache.insert(merged);
    expect(cache.find('t', bytes('z'))).toBe(merged);
  });

  it('keeps what it has when the same is found again, and takes a newer place', () => {
    const cache = new RegionCache();
    const known = region('', '', 1, 5, 1);
    cache.insert(known);
    expect(cache.insert(region('', '', 1, 5, 1))).toBe(known);
    const older = region('', '', 1, 4, 2);
    expect(cache.insert(older)).toBe(older);
    expect(cache.find('t', bytes('a'))).toBe(known);
    const newer = region('', '', 1, 6, 2);
    cache.insert(newer);
    expect(cache.find('t', bytes('a'))).toBe(newer);
  });

  it('forgets only what is still known', () => {
    const cache = new RegionCache();
    const old = region('', '', 1, 1, 1);
    cache.insert(old);
    const moved = old.movedTo({ host: 'h', port: 2 }, 2, 2);
    cache.replace(old, moved);
    cache.remove(old);
    expect(cache.find('t', bytes('a'))).toBe(moved);
    cache.removeServer('h:1');
    expect(cache.find('t', bytes('a'))).toBe(moved);
    cache.removeServer('h:2');
    expect(cache.find('t', bytes('a'))).toBeUndefined();
  });

  it('never answers a region that does not hold the row, nor two for one, whatever was inserted', () => {
    const key = fc.string({ minLength: 0, maxLength: 2, unit: fc.constantFrom('a', 'b', 'c') });
    const inserted = fc.record({ a: key, b: key, id: fc.integer({ min: 1, max: 5 }) });
    fc.assert(
      fc.property(fc.array(inserted, { maxLength: 20 }), key, (regions, row) => {
        const cache = new RegionCache();
        for (const { a, b, id } of regions) {
          const [start, end] = a < b ? [a, b] : [b, a === b ? '' : a];
          cache.insert(region(start, end, id));
        }
        const found = cache.find('t', bytes(row));
        if (found !== undefined) {
          expect(compareBytes(found.startKey, bytes(row))).toBeLessThanOrEqual(0);
          expect(found.endKey.length === 0 || compareBytes(bytes(row), found.endKey) < 0).toBe(true);
        }
        const before = cache.findBefore('t', bytes(row));
        if (before !== undefined && row !== '') {
          expect(compareBytes(before.startKey, bytes(row))).toBeLessThan(0);
          expect(before.endKey.length === 0 || compareBytes(bytes(row), before.endKey) <= 0).toBe(true);
        }
        // The newest of all is always found.
        const newest = regions.filter(({ id }) => id === Math.max(...regions.map((one) => one.id)));
        const last = newest.at(-1);
        if (last !== undefined) {
          const start = last.a < last.b ? last.a : last.b;
          expect(cache.find('t', bytes(start))?.regionId).toBe(last.id);
        }
      }),
    );
  });
});
