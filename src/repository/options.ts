import { checkPositiveInteger } from '../table/checks.js';
import type { Durability, OperationOptions, RowMutation } from '../table/index.js';

/** Options of writes. */
export interface WriteOptions extends OperationOptions {
  /** Timestamp of the cells, ms. Default: the time at which the engine applies the write. */
  readonly timestamp?: number;
  /** Time to live of the cells written, ms. Default: the family's. */
  readonly ttl?: number;
  /** Default: the table's. */
  readonly durability?: Durability;
}

/** Gives mutations what the options say. */
export function applyWriteOptions(
  mutations: readonly RowMutation[],
  options: WriteOptions | undefined,
): void {
  if (options === undefined) return;
  const { ttl, durability } = options;
  if (ttl !== undefined) checkPositiveInteger(ttl, 'ttl (milliseconds)');
  for (const mutation of mutations) {
    if (ttl !== undefined && mutation.kind !== 'delete') mutation.setTtl(ttl);
    if (durability !== undefined) mutation.setDurability(durability);
  }
}
