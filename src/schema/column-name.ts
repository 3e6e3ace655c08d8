import type { ColumnName } from '../../decorators/index.js';
import { toBytes } from '../bytes/index.js';

export interface ParsedColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** "family:qualifier" taken apart at its first colon; a text with the broken rule when it is none. */
export function parseColumnName(column: ColumnName): ParsedColumn | string {
  if (typeof column !== 'string') {
    return column?.qualifier instanceof Uint8Array && typeof column.family === 'string'
      ? column
      : 'The column is neither a text nor { family, qualifier }.';
  }
  const colon = column.indexOf(':');
  if (colon < 0) return `The column "${column}" names no family.`;
  if (colon === 0) return `The column "${column}" has an empty family.`;
  return { family: column.slice(0, colon), qualifier: toBytes(column.slice(colon + 1)) };
}
