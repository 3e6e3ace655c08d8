/** The invariants C1-C6 are held by the queue itself: made untrue by hand, each of them fires. */

import { expect, test } from 'vitest';
import type { RowanError } from '../../../src/errors.js';
import { type CommitLog, CommitQueue } from '../../../src/store/commit/commit-queue.js';
import type { WrittenCells } from '../../../src/store/commit/written-cells.js';
import type { LogObserver } from '../../../src/store/wal/index.js';

class FakeLog implements CommitLog {
  observer: LogObserver | undefined;
  poisoned: RowanError | undefined;
  requestWrite(): void {}
  requestSync(): void {}
}

/** What a fault of the queue would change. */
interface Inside {
  readPoint: number;
  head: number;
  waiting: { seq: number; onLoss: string; cells: unknown; durability: string }[];
}

const CELLS = { rollback: () => {}, dropOlder: () => {}, relocate: () => {} } as unknown as WrittenCells;

function queue(): { queue: CommitQueue; log: FakeLog; inside: Inside; outcomes: unknown[] } {
  const log = new FakeLog();
  const made = new CommitQueue(log, { checkWritable: () => {} }, 0, () => 0);
  const outcomes: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    made.commit(made.allocate(1), 'FSYNC_WAL', CELLS, undefined).then(
      () => outcomes.push(i),
      (error: Error) => outcomes.push(`${i}: ${error.message}`),
    );
  }
  return { queue: made, log, inside: made as unknown as Inside, outcomes };
}

function synced(made: CommitQueue, seq: number): void {
  made.recordsWritten(seq);
  made.syncBegins();
  made.syncEnded(false);
}

test('as long as they hold nothing fires: acknowledged in order, and told in order what is lost', async () => {
  const { queue: made, outcomes } = queue();
  synced(made, 1);
  await null;
  expect([made.readPoint, outcomes]).toEqual([1, [0]]);
  made.onLogFailed(new Error('gone'));
  await new Promise((resolve) => setImmediate(resolve));
  expect([made.readPoint, outcomes]).toEqual([1, [0, '1: gone', '2: gone']]);
});

test('C1: a write that comes in before its turn', () => {
  const { queue: made, inside } = queue();
  inside.waiting[2]!.seq = 9;
  Object.assign(made, { inOrder: (seq: number) => seq });
  expect(() => made.commit(made.allocate(1), 'FSYNC_WAL', CELLS, undefined)).toThrow('C1');
});

test('C2: a read point beyond a write that waits', () => {
  const { queue: made, inside } = queue();
  inside.readPoint = 3;
  expect(() => synced(made, 1)).toThrow('C2');
});

test('C3: an acknowledgement of what nobody can read yet', async () => {
  const { queue: made, outcomes } = queue();
  Object.defineProperty(made, 'readPoint', { get: () => 0, set: () => {} });
  expect(() => synced(made, 1)).toThrow('C3');
  await null;
  expect(outcomes).toEqual([]);
});

test('C4: a write that was seen is taken back', () => {
  const { queue: made, inside } = queue();
  inside.readPoint = 2;
  expect(() => made.onBatchFailed(new Error('full'))).toThrow('C4');
});

test.each([
  ['out of their order', (inside: Inside) => (inside.waiting[0]!.seq = 3)],
  ['or are not told at all', (inside: Inside) => (inside.waiting[1]!.onLoss = 'ignore')],
])('C5: writes that are lost are told %s', async (_, change) => {
  const { queue: made, inside, outcomes } = queue();
  change(inside);
  expect(() => made.onLogFailed(new Error('gone'))).toThrow('C5');
  await new Promise((resolve) => setImmediate(resolve));
  expect(outcomes.length).toBeLessThan(3);
});

test('C6: an acknowledgement after a failed sync', () => {
  const { queue: made, log } = queue();
  log.poisoned = new Error('dead') as RowanError;
  expect(() => synced(made, 1)).toThrow('C6');
});
