/** The rows of one question, page by page, as a view of them scrolls. */

import { expect, test } from 'vitest';
import { RowFeed } from '../../src/studio/page/feed.js';

interface Ask {
  readonly size: number;
  readonly cursor: string | null;
  answer(rows: number, next: string | null): Promise<void>;
}

/** A feed whose pages are answered by the test. */
function openFeed(): { feed: RowFeed; asks: Ask[] } {
  const asks: Ask[] = [];
  const feed = new RowFeed(
    ({ size, cursor }) =>
      new Promise((resolve) => {
        asks.push({
          size,
          cursor,
          answer: async (rows, next) => {
            resolve({ rows: Array.from({ length: rows }, () => ({})), cursor: next, took: 1 } as never);
            for (let turns = 0; turns < 5; turns++) await Promise.resolve();
          },
        });
      }),
    () => undefined,
  );
  return { feed, asks };
}

test('an empty table is read once, however often its view is drawn meanwhile', async () => {
  const { feed, asks } = openFeed();
  feed.want(0, 20);
  feed.want(0, 20);
  feed.want(0, 40);
  await asks[0]!.answer(0, null);
  feed.want(0, 20);
  expect(asks).toHaveLength(1);
  expect([feed.length, feed.complete, feed.failure]).toEqual([0, true, undefined]);
});

test('a page that is wanted again while it comes is read once, and the next one behind it', async () => {
  const { feed, asks } = openFeed();
  feed.want(0, 20);
  feed.want(0, 20);
  await asks[0]!.answer(50, 'a');
  expect(asks.map(({ cursor }) => cursor)).toEqual([null]);
  feed.want(20, 50);
  feed.want(20, 50);
  await asks[1]!.answer(3, null);
  expect(asks.map(({ cursor }) => cursor)).toEqual([null, 'a']);
  expect([feed.length, feed.complete]).toEqual([53, true]);
});
