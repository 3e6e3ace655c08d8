/** The invariants C1-C8 are held by the store itself: made untrue by hand, each of them fires. */

import { expect, test } from 'vitest';
import type { RowanError } from '../../../src/errors.js';
import { type CommitLog, CommitQueue, type WrittenCells } from '../../../src/store/commit/commit-queue.js';
import type { LogObserver } from '../../../src/store/wal/index.js';
import { createTable, memoryStore, put } from '../engine/support.js';

const AWAIT_DECIDED = Object.getOwnPropertyDescriptor(CommitQueue.prototype, 'awaitDecided')!;

class FakeLog implements CommitLog {
  observer: LogObserver | undefined;
  poisoned: RowanError | undefined;
  requestWrite(): void {}
  syncs: string[] = [];
  onBeginSync = (): void => {};
  requestSync(): void {
    this.syncs.push('requested');
  }
  beginSync(): void {
    this.syncs.push('begun');
    this.onBeginSync();
  }
  fail(cause: unknown): void {
    this.poisoned = cause as RowanError;
    this.observer?.onLogFailed(cause);
  }
}

/** What a fault of the queue would change. */
interface Inside {
  readPoint: number;
  head: number;
  waiting: { seq: number; onLoss: string; cells: unknown; durability: string }[];
}

const CELLS = {
  count: 1,
  rollback: () => {},
  rollbackTo: () => {},
  dropOlder: () => {},
  relocate: () => {},
} as unknown as WrittenCells;

function commit(made: CommitQueue): Promise<void> {
  const begun = made.begin(CELLS, undefined);
  return made.commit(begun, made.allocate(1), 'FSYNC_WAL');
}

function queue(): { queue: CommitQueue; log: FakeLog; inside: Inside; outcomes: unknown[] } {
  const log = new FakeLog();
  const made = new CommitQueue(log, { checkWritable: () => {} }, 0, () => 0);
  const outcomes: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    commit(made).then(
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
  expect(() => commit(made)).toThrow('C1');
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
  ['or are not told at all', (inside: Inside) => (inside.waiting[1]!.onLoss = 'settle')],
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

test('C7: a flush of what is not acknowledged', async () => {
  const { engine } = await memoryStore();
  const table = await createTable(engine);
  await table.put(put('a', '1'));
  Object.defineProperty(CommitQueue.prototype, 'awaitDecided', { ...AWAIT_DECIDED, value: async () => {} });
  try {
    const late = table.put(put('b', '2'));
    await expect(engine.admin.flush('t')).rejects.toThrow('C7');
    await late;
  } finally {
    Object.defineProperty(CommitQueue.prototype, 'awaitDecided', AWAIT_DECIDED);
  }
  await engine.admin.flush('t');
  await engine.close();
});

test('C8: a write that is numbered while a load is recorded', async () => {
  const { queue: made } = queue();
  const load = made.beginLoad();
  expect(() => made.allocate(1)).toThrow('C8');
  made.abortLoad(load);
  synced(made, 3);
  await commitAnd(made, 5);
  expect(made.readPoint).toBe(5);
});

test('a load is seen when it is committed and what is before it is acknowledged or lost; with the log it ends', async () => {
  const { queue: made, outcomes } = queue();
  const load = made.beginLoad();
  synced(made, 2);
  expect([load.seq, made.readPoint]).toEqual([4, 2]);
  const done = made.commitLoad(load);
  const answer = made.awaitPrior();
  expect(made.readPoint).toBe(2);
  made.onBatchFailed(new Error('full'));
  await done;
  await expect(answer).rejects.toThrow('full');
  expect([made.readPoint, outcomes]).toEqual([4, [0, 1, '2: full']]);
  const [first, second] = [made.beginLoad(), made.beginLoad()];
  const later = made.commitLoad(second);
  expect(made.readPoint).toBe(4);
  made.onLogFailed(new Error('gone'));
  made.abortLoad(first);
  await expect(later).rejects.toThrow('gone');
  expect(made.readPoint).toBe(4);
});

test('who begins to wait while a write is made waits for all of it', async () => {
  const { queue: made } = queue();
  synced(made, 3);
  const begun = made.begin(CELLS, undefined);
  expect(made.isWriting).toBe(true);
  const told: string[] = [];
  const follow = (name: string, done: Promise<void>): Promise<void> =>
    done.then(
      () => void told.push(name),
      (error: Error) => void told.push(`${name}: ${error.message}`),
    );
  const all = [
    follow('answer', made.awaitPrior()),
    follow('flush', made.awaitDecided()),
    follow('write', made.commit(begun, made.allocate(5) + 4, 'FSYNC_WAL')),
  ];
  expect(made.isWriting).toBe(false);
  synced(made, 7);
  await new Promise((resolve) => setImmediate(resolve));
  expect([made.readPoint, told]).toEqual([3, []]);
  synced(made, 8);
  await Promise.all(all);
  expect([made.readPoint, [...told].sort()]).toEqual([8, ['answer', 'flush', 'write']]);
});

test('a write that is taken back while it is made takes with it the answers that rest on it, and no one else', async () => {
  const { queue: made, outcomes } = queue();
  const begun = made.begin(CELLS, undefined);
  const answer = made.awaitPrior();
  const flush = made.awaitDecided();
  made.abort(begun, new Error('refused'));
  await expect(answer).rejects.toThrow('refused');
  let flushed = false;
  void flush.then(() => (flushed = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect([made.isWriting, outcomes, flushed]).toEqual([false, [], false]);
  synced(made, 3);
  await flush;
  await commitAnd(made, 4);
  expect([made.readPoint, outcomes]).toEqual([4, [0, 1, 2]]);
});

test('a flush waits for the writes that are not lost, too', async () => {
  const { queue: made, outcomes } = queue();
  const order = made.awaitDecided().then(() => outcomes.push('flush'));
  made.recordsWritten(2);
  made.onBatchFailed(new Error('full'));
  await new Promise((resolve) => setImmediate(resolve));
  expect([made.readPoint, outcomes]).toEqual([0, ['2: full']]);
  synced(made, 2);
  await order;
  expect([made.readPoint, outcomes]).toEqual([2, ['2: full', 0, 1, 'flush']]);
});

test('a write that is being made is not lost with a batch that it is not in, and is with one that it rests on', async () => {
  const { queue: made, outcomes } = queue();
  synced(made, 3);
  const first = made.begin(CELLS, undefined);
  made.onBatchFailed(new Error('an end of a segment'));
  expect(made.isWriting).toBe(true);
  const done = made.commit(first, made.allocate(1), 'FSYNC_WAL');
  const second = made.begin(CELLS, undefined);
  made.onBatchFailed(new Error('full'));
  expect(made.isWriting).toBe(false);
  await expect(done).rejects.toThrow('full');
  made.abort(second, new Error('full'));
  await commitAnd(made, 5);
  expect([made.readPoint, outcomes]).toEqual([5, [0, 1, 2]]);
});

test('cells that are added while the log syncs: after the sync has begun, which is the only one', async () => {
  const { queue: made, log } = queue();
  synced(made, 3);
  log.syncs = [];
  log.onBeginSync = () => {
    made.recordsWritten(5);
    made.syncBegins();
  };
  const done = made.commit(made.begin(CELLS, undefined), made.allocate(2) + 1, 'FSYNC_WAL', () => {
    log.syncs.push('added');
    expect([made.isWriting, made.readPoint]).toEqual([true, 3]);
  });
  expect([log.syncs, made.isWriting, made.readPoint]).toEqual([['begun', 'added'], false, 3]);
  made.syncEnded(false);
  await done;
  expect(made.readPoint).toBe(5);
  // A sync that runs already does not cover the record: another is needed.
  log.onBeginSync = () => {};
  const next = made.commit(made.begin(CELLS, undefined), made.allocate(1), 'FSYNC_WAL', () => {});
  expect(log.syncs).toEqual(['begun', 'added', 'begun', 'requested']);
  synced(made, 6);
  await next;
});

test('cells of a write that the log loses when it begins to sync are not added', async () => {
  const { queue: made, log, outcomes } = queue();
  made.recordsWritten(2);
  log.onBeginSync = () => made.onBatchFailed(new Error('full'));
  const begun = made.begin(CELLS, undefined);
  const done = made.commit(begun, made.allocate(2) + 1, 'FSYNC_WAL', () => {
    throw new Error('added');
  });
  expect([made.isWriting, log.poisoned]).toEqual([false, undefined]);
  await expect(done).rejects.toThrow('full');
  expect(outcomes).toEqual(['2: full']);
  synced(made, 2);
  await commitAnd(made, 6);
  expect([made.readPoint, outcomes]).toEqual([6, ['2: full', 0, 1]]);
});

test('the write in progress alone is lost with its record, too', async () => {
  const { queue: made, log } = queue();
  synced(made, 3);
  log.onBeginSync = () => made.onBatchFailed(new Error('full'));
  const done = made.commit(made.begin(CELLS, undefined), made.allocate(1), 'FSYNC_WAL', () => {
    throw new Error('added');
  });
  await expect(done).rejects.toThrow('full');
  expect(made.isWriting).toBe(false);
});

test('a record whose cells cannot be added ends the log', async () => {
  const { queue: made, log, outcomes } = queue();
  synced(made, 2);
  const rolledBack: number[] = [];
  const cells = { ...CELLS, rollback: () => rolledBack.push(1) } as unknown as WrittenCells;
  const done = made.commit(made.begin(cells, undefined), made.allocate(1), 'FSYNC_WAL', () => {
    throw new Error('no memory');
  });
  await expect(done).rejects.toThrow('no memory');
  expect([made.isWriting, rolledBack, log.poisoned?.message]).toEqual([false, [1], 'no memory']);
  expect([made.readPoint, outcomes]).toEqual([2, [0, 1, '2: no memory']]);
});

async function commitAnd(made: CommitQueue, seq: number): Promise<void> {
  const done = commit(made);
  synced(made, seq);
  await done;
}
