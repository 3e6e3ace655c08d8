import type { ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnOptions } from './declaration.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** `was` names the family and prefix that the values stood behind before, at the same times. */
export interface PackedOptions<V> extends ColumnOptions<V> {
  /** The part of the key that `timeBucket(...)` makes the row's span of time of. */
  readonly part: string;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * The events of one span of time as columns of one row, the way OpenTSDB keeps its points: the key has the bucket, the
 * qualifier behind the prefix the offset from its start (4 bytes of ms; with `timeBucket(..., { unit: 's' })` seconds,
 * in 2 bytes while the span has no more than 65536). The Map's keys are times in ms; each lies in the row's bucket. A
 * loaded entity has the start of its bucket as the part.
 *
 * @example
 * ```ts
 * @RowKey(salt(16), part('metric'), timeBucket('at', '1h', { unit: 's' }))
 * class Hour {
 *   declare static readonly key: ['metric', 'at'];
 *   metric!: string;
 *   at!: Date;
 *   @Packed('t:', { part: 'at', value: float64 }) points!: Map<number, number>;
 * }
 * ```
 */
export function Packed<V>(
  column: ColumnName,
  options: PackedOptions<V>,
): PropertyDecoratorOf<ReadonlyMap<number, V | null>> {
  return memberDecorator('Packed', 'field', (declaration, property) => {
    const part = options?.part;
    const value = options?.value;
    const was = options?.was;
    declaration.properties.push({
      kind: 'packed',
      decorator: 'Packed',
      property,
      column,
      part,
      value,
      ...(was && { was }),
    });
  });
}
