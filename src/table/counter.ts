import { InvalidArgumentError, RowanError } from '../errors.js';
import { Increment } from './mutation.js';
import type { Table } from './table.js';

/** A counter in a row, of which numbers are taken. */
interface Counter {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Takes the next `count` numbers of a counter and returns the last of them. Numbers stay unused where the answer to an increment is
 * lost for good: then others are taken.
 * @throws RowanError what the increment throws; for an unknown outcome the second time.
 */
export async function takeNumbers(table: Table, counter: Counter, count: number): Promise<bigint> {
  const { row, family, qualifier } = counter;
  let failures = 0;
  for (;;) {
    try {
      const result = await table.increment(new Increment(row).addColumn(family, qualifier, count));
      const value = result.getValue(family, qualifier);
      // HBase answers a repeated increment without its values when it knows of it from the log only.
      if (value !== undefined) return Buffer.from(value).readBigInt64BE();
    } catch (error) {
      if (!isLost(error) || ++failures === 2) throw error;
    }
  }
}

function isLost(error: unknown): boolean {
  return (
    error instanceof RowanError && error.code !== 'ERR_TIMEOUT' && error.details?.['outcome'] === 'unknown'
  );
}

/**
 * The bytes of a counter after an increment: 8, big-endian. @param before undefined: absent, which counts as 0.
 * @throws InvalidArgumentError for bytes that are no counter.
 */
export function counterAfter(
  before: Uint8Array | undefined,
  { family, qualifier, amount }: Increment['columns'][number],
): Uint8Array {
  if (before !== undefined && before.length !== 8) {
    const name = `${family}:${Buffer.from(qualifier).toString('latin1')}`;
    throw new InvalidArgumentError(
      `Cannot increment ${name}: its value has ${before.length} bytes, a counter has 8 (big-endian int64). ` +
        'Write it with an increment, or with the counter codec.',
      { details: { family, counterBytes: before.length } },
    );
  }
  const former = before === undefined ? 0n : new DataView(before.buffer, before.byteOffset, 8).getBigInt64(0);
  const value = new Uint8Array(8);
  new DataView(value.buffer).setBigInt64(0, BigInt.asIntN(64, former + amount));
  return value;
}
