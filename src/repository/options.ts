import { InvalidArgumentError } from '../errors.js';
import { checkPositiveInteger, describe } from '../table/checks.js';
import type { Durability, OperationOptions, RowMutation } from '../table/index.js';

/** Options of writes. */
export interface WriteOptions extends OperationOptions {
  /** Timestamp of the cells, ms. Default: the time at which the engine applies the write. */
  readonly timestamp?: number;
  /**
   * Time to live, ms: of the cells written, and of the whole entity where it is declared with one (`@Ttl`,
   * `@Entity({ ttl })`). Default: what is declared.
   */
  readonly ttl?: number;
  /** Default: the table's. */
  readonly durability?: Durability;
}

/** Options of writes of many entities. */
export interface BulkWriteOptions<E> extends Omit<WriteOptions, 'timestamp'> {
  /** Timestamp of the cells, ms, of all entities or of each: what is written later can end by its own time. */
  readonly timestamp?: number | ((entity: E) => number);
}

const KNOWN: ReadonlySet<string> = new Set([
  'timestamp',
  'ttl',
  'durability',
  'signal',
  'timeout',
  'attributes',
  'atomic',
]);

/** Gives mutations what the options say. @throws InvalidArgumentError on options that there are not. */
export function applyWriteOptions(
  mutations: readonly RowMutation[],
  options: WriteOptions | undefined,
): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`The options of a write are an object, not ${describe(options)}.`);
  }
  for (const name in options) {
    if (KNOWN.has(name)) continue;
    throw new InvalidArgumentError(
      `A write has no option ${describe(name)}. It has ${[...KNOWN].join(', ')}.`,
    );
  }
  const { ttl, durability } = options;
  if (ttl !== undefined) checkPositiveInteger(ttl, 'ttl (milliseconds)');
  for (const mutation of mutations) {
    if (ttl !== undefined && mutation.kind !== 'delete') mutation.setTtl(ttl);
    if (durability !== undefined) mutation.setDurability(durability);
  }
}

/** The options of one entity of many. */
export function optionsOf<E>(options: BulkWriteOptions<E> | undefined, entity: E): WriteOptions | undefined {
  if (typeof options?.timestamp !== 'function') return options as WriteOptions | undefined;
  return { ...options, timestamp: options.timestamp(entity) };
}
