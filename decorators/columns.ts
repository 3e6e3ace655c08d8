import type { ValueCodec } from '../src/codec/index.js';
import { text } from '../src/codec/index.js';
import type { ColumnName, ColumnOptions } from './declaration.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** `was` names the family and prefix that the entries stood behind before, with the same keys. */
export interface ColumnsOptions<K, V> extends ColumnOptions<V> {
  /** The codec of the Map's keys, which stand in the qualifiers behind the prefix. Default text. */
  readonly key?: ValueCodec<K>;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * A Map of which each entry is a column "family:prefix" + key: followers, items of a shop, children of a category, any
 * list that grows without end. A put writes the entries of the Map and leaves others alone; an entry that is null is
 * deleted. A loaded Map has the entries in the byte order of their keys.
 *
 * @example
 * ```ts
 * @Columns('f:', { value: date }) followers!: Map<string, Date>;
 * @Columns('d:i.', { key: uint32, value: text }) items!: Map<number, string | null>;
 * ```
 */
export function Columns<V, K = string>(
  column: ColumnName,
  options: ColumnsOptions<K, V>,
): PropertyDecoratorOf<ReadonlyMap<K, V | null>> {
  return memberDecorator('Columns', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'columns',
      decorator: 'Columns',
      property,
      column,
      key: options?.key ?? text,
      value: options?.value,
      ...(was && { was }),
    });
  });
}
