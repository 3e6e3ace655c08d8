import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { RowanError } from '../../errors.js';
import { joinPath } from './file-system.js';

export const LOCK_FILE = 'LOCK';

/** What the LOCK file holds, as JSON. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** Linux: which start of the machine the process belongs to. */
  readonly bootId?: string;
  /** Linux: when the process started, in clock ticks after the start of the machine. */
  readonly startTime?: string;
}

/** The refusal of a second opener, with what the LOCK file says of the first. */
export function lockedError(directory: string, cause?: unknown): RowanError {
  const holder = readHolder(joinPath(directory, LOCK_FILE));
  const who =
    holder === undefined
      ? 'another process'
      : holder.pid === process.pid && holder.host === hostname()
        ? `this process (pid ${holder.pid}) itself`
        : `process ${holder.pid} on ${holder.host}`;
  return new RowanError(
    'ERR_LOCKED',
    `The store in "${directory}" is in use by ${who}. Close it there first, or ask that process for the data: ` +
      'one opener at a time has a store.',
    { cause, retryable: true, details: { file: directory, pid: holder?.pid, host: holder?.host } },
  );
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<LockHolder> | null;
    if (typeof holder?.pid !== 'number' || typeof holder.host !== 'string') return undefined;
    return holder as LockHolder;
  } catch {
    return undefined; // The file only words the message; the lock itself was already refused.
  }
}

/** What this process writes into the LOCK file. */
export function thisProcess(): LockHolder {
  const bootId = readProc('/proc/sys/kernel/random/boot_id');
  // The name in parentheses may hold spaces; the start time is field 22, the 20th after it.
  const startTime = readProc('/proc/self/stat')?.split(') ').pop()?.split(' ')[19];
  return {
    pid: process.pid,
    host: hostname(),
    ...(bootId === undefined ? {} : { bootId }),
    ...(startTime === undefined ? {} : { startTime }),
  };
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
