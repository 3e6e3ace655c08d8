/** What a `replace` takes away. */

import { startsWithBytes, toLatin1 } from '../bytes/index.js';
import type { ColumnSchema } from '../schema/types.js';
import { CellType, type Delete, type RowMutation } from '../table/index.js';
import type { ResolvedChange } from './change.js';
import type { RowImage } from './row-image.js';

type Entity = Record<string, unknown>;

/** Whether the entity says nothing of the column, so that a replacement has none. */
export function isMissing(source: Readonly<Entity>, column: ColumnSchema): boolean {
  let value: unknown = source;
  for (const step of column.path) {
    if (value === undefined || value === null) return value === undefined;
    value = (value as Readonly<Entity>)[step];
  }
  return value === undefined;
}

/** Adds the stored dynamic columns that the new entity does not have: compared by the bytes of their names. */
export function dropDynamic(
  dynamic: readonly ColumnSchema[],
  before: RowImage,
  mutations: readonly RowMutation[],
  del: Delete,
): void {
  const kept = new Set<string>();
  for (const mutation of mutations) {
    if (!('cells' in mutation)) continue;
    for (const { family, qualifier } of mutation.cells) kept.add(`${family}:${toLatin1(qualifier)}`);
  }
  for (const { family, qualifier } of before.all()) {
    const owned = dynamic.some(
      (column) => column.family === family && startsWithBytes(qualifier, column.qualifier),
    );
    if (owned && !kept.has(`${family}:${toLatin1(qualifier)}`)) del.addColumns(family, qualifier);
  }
}

/** The mutations with one delete in place of two; what was to be written anew and is deleted is not written. */
export function joinDeletes({ mutations, ...resolved }: ResolvedChange, del: Delete): ResolvedChange {
  const gone = new Set(del.cells.map(({ family, qualifier }) => `${family}:${toLatin1(qualifier)}`));
  for (const mutation of mutations) if (mutation.kind === 'delete') del.cells.push(...mutation.cells);
  const rest = mutations.filter((mutation) => mutation.kind !== 'delete');
  for (const mutation of rest) {
    if (mutation.kind !== 'put') continue;
    const left = mutation.cells.filter(
      ({ family, qualifier, type }) => type !== CellType.Put || !gone.has(`${family}:${toLatin1(qualifier)}`),
    );
    mutation.cells.splice(0, mutation.cells.length, ...left);
  }
  return { mutations: [...rest.filter((m) => m.kind !== 'put' || m.cells.length > 0), del], ...resolved };
}
