/** Batches of a split that are under way at once: how many, what a checkpoint waits for, and who is told of a failure. */

import { describe, expect, it } from 'vitest';
import { OverlappedWork } from '../../src/job/entity-rows.js';
import { Result } from '../../src/table/index.js';

/** Each batch ends when the test says so. */
class Batches extends OverlappedWork {
  readonly begun: { end(): void; fail(error: Error): void }[] = [];
  ended = 0;

  protected async batch(): Promise<void> {
    await new Promise<void>((end, fail) => this.begun.push({ end, fail }));
    this.ended++;
  }
}

const rows = [new Result(Uint8Array.of(1), [])];

/** Whether it is settled when all that can go on has gone on. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('batches of a split', () => {
  it.each([
    [2, new Batches()],
    [5, new Batches(5)],
  ])('of which %i are under way at once', async (most, work) => {
    for (let i = 1; i < most; i++) await work.rows(rows);
    const last = work.rows(rows);
    expect(work.begun).toHaveLength(most);
    expect(await isSettled(last)).toBe(false);
    // The one that began first makes room.
    work.begun[1]!.end();
    expect(await isSettled(last)).toBe(false);
    work.begun[0]!.end();
    await last;
  });

  it('are all waited for by a checkpoint', async () => {
    const work = new Batches(4);
    for (let i = 0; i < 3; i++) await work.rows(rows);
    const committed = work.commit();
    work.begun[0]!.end();
    work.begun[2]!.end();
    expect(await isSettled(committed)).toBe(false);
    work.begun[1]!.end();
    await committed;
    expect(work.ended).toBe(3);
  });

  it('tell of their failure at the next checkpoint, and close behind the others', async () => {
    const work = new Batches(4);
    for (let i = 0; i < 3; i++) await work.rows(rows);
    work.begun[1]!.fail(new Error('full'));
    const committed = work.commit();
    work.begun[0]!.end();
    await expect(committed).rejects.toThrow('full');
    const closed = work.close();
    expect(await isSettled(closed)).toBe(false);
    work.begun[2]!.end();
    await closed;
  });

  it('tell of their failure to who brings the next', async () => {
    const work = new Batches();
    await work.rows(rows);
    work.begun[0]!.fail(new Error('full'));
    await expect(work.rows(rows)).rejects.toThrow('full');
    work.begun[1]!.end();
    await work.close();
  });
});
