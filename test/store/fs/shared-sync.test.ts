/** Syncs that callers share. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SharedSync } from '../../../src/store/fs/index.js';
import { scaled } from '../../proof/scale.js';

/** A disk whose syncs end when the test says so. */
class SlowDisk {
  written = 0;
  safe = 0;
  syncs = 0;
  private ending: { readonly covered: number; readonly end: (error?: Error) => void } | undefined;

  sync(): Promise<void> {
    expect(this.ending).toBeUndefined();
    this.syncs++;
    const covered = this.written;
    return new Promise((resolve, reject) => {
      this.ending = { covered, end: (error) => (error === undefined ? resolve() : reject(error)) };
    });
  }

  /** Ends the sync that runs, if any. */
  async end(error?: Error): Promise<void> {
    const { ending } = this;
    this.ending = undefined;
    if (ending !== undefined && error === undefined) this.safe = Math.max(this.safe, ending.covered);
    ending?.end(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('runs one sync for all calls that come while another runs', async () => {
  const disk = new SlowDisk();
  const sync = new SharedSync(() => disk.sync());
  const calls = [sync.run(), sync.run(), sync.run(), sync.run()];
  await disk.end();
  await disk.end();
  await Promise.all(calls);
  expect(disk.syncs).toBe(2);
});

it('covers what was written before each call, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('call', 'end', 'fail', 'turn'), { maxLength: 40 }),
      async (steps) => {
        const disk = new SlowDisk();
        const sync = new SharedSync(() => disk.sync());
        const calls: Promise<void>[] = [];
        for (const step of steps) {
          if (step === 'call') {
            const needed = ++disk.written;
            const safe = sync.run().then(() => expect(disk.safe).toBeGreaterThanOrEqual(needed));
            calls.push(safe.catch((error: Error) => expect(error.message).toBe('disk')));
          } else if (step === 'turn') await null;
          else await disk.end(step === 'fail' ? new Error('disk') : undefined);
        }
        // The one that runs, and the one after it.
        for (let i = 0; i < 2; i++) await disk.end();
        await Promise.all(calls);
        expect(disk.syncs).toBeLessThanOrEqual(calls.length);
      },
    ),
    { numRuns: scaled(200, 2000, 2000) },
  );
});
