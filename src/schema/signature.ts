import { toHex } from '../bytes/index.js';
import type { TableSchema } from './types.js';

/**
 * A text of everything that decides which bytes the table's entities write and read: layouts, record types, columns,
 * codecs, markers. Names of classes and properties are not in it: they can be changed without touching a byte.
 */
export function schemaSignature({ entities }: Pick<TableSchema, 'entities'>): string {
  return entities
    .map((entity) => {
      const { marker } = entity;
      const columns = entity.columns.map((column) => {
        const key = column.qualifierCodec === undefined ? '' : `[${column.qualifierCodec.name}]`;
        return `${column.family}:${toHex(column.qualifier)}${key} ${column.kind} ${column.codec.name}`;
      });
      const mark = marker === undefined ? 'none' : `${marker.family}:${toHex(marker.qualifier)}`;
      const version = entity.version === 1 ? [] : [`version ${entity.version}`];
      return [`key ${entity.key.signature}`, `marker ${mark}`, ...version, ...columns].join('\n');
    })
    .join('\n\n');
}
