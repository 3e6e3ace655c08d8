/** HBase's algorithms for pre-splitting (`util/RegionSplitter`), computed as the server computes them. */

import { compareBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { checkPositiveInteger, describe } from './checks.js';

export type SplitAlgorithm = 'HexStringSplit' | 'DecimalStringSplit' | 'UniformSplit';

/** The keys that split a table into `regions` regions: one fewer, strictly increasing. */
export function splitKeys(algorithm: SplitAlgorithm, regions: number): Uint8Array[] {
  checkPositiveInteger(regions, 'The number of regions');
  if (algorithm === 'HexStringSplit') return numberSplit(16, 0xffffffffn, regions);
  if (algorithm === 'DecimalStringSplit') return numberSplit(10, 99999999n, regions);
  if (algorithm === 'UniformSplit') return uniformSplit(regions);
  throw new InvalidArgumentError(
    `Unknown split algorithm "${String(algorithm)}". Write HexStringSplit, DecimalStringSplit or UniformSplit.`,
  );
}

/** Text numbers of eight digits: steps of floor((last + 1) / n) from 0. */
function numberSplit(radix: number, last: bigint, regions: number): Uint8Array[] {
  const step = (last + 1n) / BigInt(regions);
  if (step === 0n)
    throw new InvalidArgumentError(`${regions} regions are more than there are keys of eight digits.`);
  const keys: Uint8Array[] = [];
  for (let i = 1n; i < BigInt(regions); i++) {
    keys.push(Buffer.from((step * i).toString(radix).padStart(8, '0'), 'latin1'));
  }
  return keys;
}

/** Keys of eight bytes at equal distances from 00 x 8 to FF x 8 inclusive (`Bytes.split` with `inclusive`). */
function uniformSplit(regions: number): Uint8Array[] {
  const step = 2n ** 64n / BigInt(regions);
  const keys: Uint8Array[] = [];
  for (let i = 1n; i < BigInt(regions); i++) {
    const key = Buffer.alloc(8);
    key.writeBigUInt64BE(step * i);
    keys.push(key);
  }
  return keys;
}

/**
 * Split keys as HBase takes them: none empty, strictly increasing (R86).
 * @throws InvalidArgumentError naming the first key that breaks the rule.
 */
export function checkSplitKeys(keys: readonly Uint8Array[]): void {
  keys.forEach((key, index) => {
    if (!(key instanceof Uint8Array)) {
      throw new InvalidArgumentError(
        `Split key ${index} is ${describe(key)}, not bytes. Give a Uint8Array, e.g. Buffer.from(text).`,
      );
    }
    const before = keys[index - 1];
    if (key.length === 0 || (before && compareBytes(before, key) >= 0)) {
      throw new InvalidArgumentError(
        `Split key ${index} (${Buffer.from(key).toString('hex')}) is empty or not above the one before it. ` +
          'Give split keys in strictly increasing byte order.',
      );
    }
  });
}
