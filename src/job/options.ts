import { InvalidArgumentError } from '../errors.js';
import { describe } from '../table/checks.js';
import type { JobRunOptions } from './types.js';

/** Options with their defaults. */
export interface RunSettings {
  readonly parallel: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly checkpointRows: number;
  readonly checkpointMs: number;
  readonly leaseMs: number;
  readonly splitBytes: number;
  readonly rowsPerSecond: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly shard: { readonly index: number; readonly count: number };
}

const DEFAULTS = {
  parallel: 4,
  batchRows: 1000,
  batchBytes: 4 << 20,
  checkpointRows: 20_000,
  checkpointMs: 2000,
  leaseMs: 30_000,
  splitBytes: 256 << 20,
} as const;

/** No timer runs longer, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(DEFAULTS),
  'rowsPerSecond',
  'bytesPerSecond',
  'shard',
  'restart',
  'signal',
  'onProgress',
]);

/** @throws InvalidArgumentError for an option that is unknown or can never be right. */
export function runSettings(options: JobRunOptions): RunSettings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`Options of a job are an object, not ${describe(options)}.`);
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) {
      throw new InvalidArgumentError(
        `Unknown option "${name}" of a job. Known: ${[...KNOWN].sort().join(', ')}.`,
      );
    }
  }
  const whole = (name: keyof typeof DEFAULTS): number => {
    const value = options[name] ?? DEFAULTS[name];
    if (!Number.isSafeInteger(value) || value < 1) throw wrong(name, 'a whole number from 1', value);
    return value;
  };
  const rate = (name: 'rowsPerSecond' | 'bytesPerSecond'): number | undefined => {
    const value = options[name];
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw wrong(name, 'a number above 0', value);
    return value;
  };
  return {
    parallel: whole('parallel'),
    batchRows: whole('batchRows'),
    batchBytes: whole('batchBytes'),
    checkpointRows: whole('checkpointRows'),
    checkpointMs: whole('checkpointMs'),
    leaseMs: leaseOf(whole('leaseMs')),
    splitBytes: whole('splitBytes'),
    rowsPerSecond: rate('rowsPerSecond'),
    bytesPerSecond: rate('bytesPerSecond'),
    shard: shardOf(options.shard),
  };
}

function leaseOf(lease: number): number {
  if (lease > LONGEST_TIMER) throw wrong('leaseMs', `no more than ${LONGEST_TIMER}`, lease);
  return lease;
}

function shardOf(shard: JobRunOptions['shard']): { index: number; count: number } {
  if (shard === undefined) return { index: 0, count: 1 };
  const { index, count } = typeof shard === 'object' && shard !== null ? shard : { index: -1, count: 0 };
  const fits = Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count;
  if (!fits) throw wrong('shard', 'an index from 0 below a count', shard);
  return { index, count };
}

function wrong(name: string, wanted: string, value: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`The option ${name} of a job is ${wanted}, not ${describe(value)}.`);
}
