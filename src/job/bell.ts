/** Wakes lanes of this process that wait for splits of one job when another of its lanes has ended one. */

import { sleep } from './sleep.js';

const waiting = new Map<string, Set<AbortController>>();

/** Waits until the job's bell rings, but no longer than so long, nor after the signal is aborted. */
export async function sleepUntilRung(job: string, milliseconds: number, signal: AbortSignal): Promise<void> {
  const rung = new AbortController();
  const lanes = waiting.get(job) ?? new Set();
  waiting.set(job, lanes.add(rung));
  try {
    await sleep(milliseconds, AbortSignal.any([signal, rung.signal]));
  } finally {
    lanes.delete(rung);
    if (lanes.size === 0) waiting.delete(job);
  }
}

export function ring(job: string): void {
  for (const lane of waiting.get(job) ?? []) lane.abort();
}
