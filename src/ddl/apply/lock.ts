/**
 * The lock of those who change schemas: a row with an owner and a sign of life. Whoever wants it takes it over when it has
 * seen the same bytes for a whole lease, by its own clock, so that no two clocks need to agree.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { type ControlTable, type Kept, LOCK_ROW } from './control-table.js';

interface LockState {
  /** Undefined: nobody has it. */
  readonly owner?: string;
  /** Changes with every sign of life. */
  readonly beat: number;
}

export interface LockOptions {
  /** Milliseconds without a sign of life after which the lock may be taken over. Default 30,000. */
  readonly leaseMs: number;
  /** Milliseconds that are waited for it. Default 60,000. */
  readonly waitMs: number;
}

const POLL_MS = 200;

export class SchemaLock {
  private readonly timer: NodeJS.Timeout;
  private beating: Promise<void> = Promise.resolve();
  private lost: unknown;

  private constructor(
    private readonly control: ControlTable,
    private readonly owner: string,
    private held: Kept<LockState>,
    private readonly leaseMs: number,
    private renewedAt: number,
  ) {
    this.timer = setInterval(() => {
      this.beating = this.beating.then(() => this.renew());
    }, leaseMs / 4);
    this.timer.unref();
  }

  /** @throws RowanError `ERR_LOCKED`, retryable, naming who has it. */
  static async acquire(
    control: ControlTable,
    owner: string,
    { leaseMs, waitMs }: LockOptions,
  ): Promise<SchemaLock> {
    const began = performance.now();
    let seen: Kept<LockState> | undefined;
    let seenAt = began;
    for (;;) {
      const now = await control.read<LockState>(LOCK_ROW);
      const time = performance.now();
      if (seen === undefined || now === undefined || !equalBytes(seen.bytes, now.bytes)) seenAt = time;
      seen = now;
      if (now?.value.owner === undefined || time - seenAt >= leaseMs) {
        const beat = (now?.value.beat ?? 0) + 1;
        const held = await control.change<LockState>(LOCK_ROW, now, { owner, beat });
        if (held !== undefined) return new SchemaLock(control, owner, held, leaseMs, time);
        seen = undefined;
        continue;
      }
      if (time - began >= waitMs) {
        throw new RowanError(
          'ERR_LOCKED',
          `Another one is changing schemas: ${now.value.owner}. Try again when it is done; if it is dead, the lock is free ${leaseMs / 1000} s after its last sign of life, and can be waited for with lockWaitMs.`,
          { retryable: true, details: { owner: now.value.owner } },
        );
      }
      await delay(Math.min(POLL_MS, leaseMs / 4));
    }
  }

  /**
   * Called before each change. Where the last sign of life is old one is given now: it succeeds if nobody took the lock.
   * @throws RowanError `ERR_LOCKED` when another one has it by now.
   */
  async check(): Promise<void> {
    if (performance.now() - this.renewedAt >= this.leaseMs / 2) {
      this.beating = this.beating.then(() => this.renew());
      await this.beating;
    }
    if (this.lost === undefined && performance.now() - this.renewedAt < this.leaseMs) return;
    throw new RowanError(
      'ERR_LOCKED',
      'The lock of the schema was lost: no sign of life could be given for the length of its lease. What was done so far stands; plan and apply again.',
      { retryable: true, cause: this.lost },
    );
  }

  async release(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
    const { beat } = this.held.value;
    // Where this fails the lease runs out.
    if (this.lost === undefined) {
      await this.control.change<LockState>(LOCK_ROW, this.held, { beat: beat + 1 }).catch(() => undefined);
    }
  }

  private async renew(): Promise<void> {
    if (this.lost !== undefined) return;
    const time = performance.now();
    try {
      const { beat } = this.held.value;
      const held = await this.control.change<LockState>(LOCK_ROW, this.held, {
        owner: this.owner,
        beat: beat + 1,
      });
      if (held === undefined) {
        this.lost = new Error('It was taken over.');
        return;
      }
      this.held = held;
      this.renewedAt = time;
    } catch (error) {
      // Tried again at the next beat; `check` tells when that takes too long. Closed engines do not come back.
      if (error instanceof RowanError && error.code === 'ERR_CLOSED') this.lost = error;
    }
  }
}
