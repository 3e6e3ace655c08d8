/** How often the throttle of writes adds up the memstores of all regions. */

import { expect, test } from 'vitest';
import type { Region } from '../../../src/store/region/region.js';
import { WriteThrottle } from '../../../src/store/write-throttle.js';

/** A throttle of a store with so many empty regions. `sums`: how often their bytes were added up. */
function throttleOf(count: number): { throttle: WriteThrottle; regions: Region[]; sums: () => number } {
  let sums = 0;
  const regions = Array.from({ length: count }, () => ({ stores: [] }) as unknown as Region);
  const throttle = new WriteThrottle(
    {
      flushSizeOf: () => 1000,
      requestFlush: () => undefined,
      memstores: () => {
        sums++;
        return { bytes: 0, regions: count };
      },
      largest: () => undefined,
      onStall: () => undefined,
      clock: () => 0,
    },
    1_000_000,
    true,
  );
  return { throttle, regions, sums: () => sums };
}

test('an opening adds up memory once, however many regions there are', () => {
  const { throttle, regions, sums } = throttleOf(500);
  throttle.opened(regions);
  expect(sums()).toBe(1);
});

test('small writes add up memory at most once in as many as there are regions, large ones once in a MiB', () => {
  const few = throttleOf(2);
  for (let write = 0; write < 640; write++) few.throttle.wrote(few.regions[0]!, 1, 10);
  expect(few.sums()).toBe(10);
  const many = throttleOf(500);
  many.throttle.opened(many.regions);
  for (let write = 0; write < 1000; write++) many.throttle.wrote(many.regions[0]!, 1, 10);
  expect(many.sums()).toBe(3);
  for (let write = 0; write < 4; write++) many.throttle.wrote(many.regions[0]!, 1, 1 << 20);
  expect(many.sums()).toBe(7);
});
