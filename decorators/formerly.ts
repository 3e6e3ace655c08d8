import type { ValueCodec } from '../src/codec/index.js';
import type { ColumnName, FormerColumn } from './declaration.js';

/**
 * Where a property stood in cells of another codec, for `was`: they are read with `codec`, and are the property's by
 * `migrate`, which must give the same for the same and must not fail on what was ever stored.
 *
 * @example
 * ```ts
 * @Column('d:cents', int64, { was: [formerly('d:total', text, (old) => BigInt(Math.round(Number(old) * 100)))] })
 * cents!: bigint;
 * ```
 */
export function formerly<Old, T>(
  column: ColumnName,
  codec: ValueCodec<Old>,
  migrate: (old: Old) => T,
): FormerColumn<T> {
  return { column, codec: codec as ValueCodec<unknown>, migrate };
}
