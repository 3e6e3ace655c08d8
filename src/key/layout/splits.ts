/** Where to split a table: told by HBase's own algorithms, from samples, or from the layout of its keys. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { splitKeys } from '../../table/splits.js';
import type { SplitOptions } from '../types.js';
import { quantiles } from './split-cuts.js';
import type { Step } from './step.js';

/** See `KeyLayout.splitPoints`. */
export function splitPoints(steps: readonly Step[], regions: number, options: SplitOptions): Uint8Array[] {
  checkRegions(regions);
  if (options.algorithm !== undefined) return splitKeys(options.algorithm, regions);
  if (options.samples !== undefined) return quantiles(options.samples, regions);
  const split = (index: number, prefix: Uint8Array, share: number): Uint8Array[] => {
    const step = steps[index];
    if (share < 2 || step === undefined) return [];
    return step.splits(prefix, share, (behind, count) => split(index + 1, behind, count), options);
  };
  return split(0, EMPTY_BYTES, regions);
}

function checkRegions(regions: number): void {
  if (Number.isInteger(regions) && regions >= 1) return;
  throw new InvalidArgumentError(
    `The number of regions must be a whole number from 1 on, not ${String(regions)}.`,
  );
}
