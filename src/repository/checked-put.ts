/** A put that takes effect only if the entity with a key is there and meets a condition. */

import { equalBytes } from '../bytes/index.js';
import { QueryError } from '../errors.js';
import type { EntitySchema } from '../schema/types.js';
import type { Change } from './change.js';
import { checkEntity } from './entity-checks.js';
import type { WriteOptions } from './options.js';
import { keyText, rowOfKey } from './row-access.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

/** @throws QueryError when the entity's key is not the one that is checked; what the entity says wrong. */
export async function checkedPut(
  schema: EntitySchema,
  compiler: WriteCompiler,
  key: Readonly<Record<string, unknown>>,
  entity: unknown,
  condition: Required<Condition>,
  options: WriteOptions | undefined,
): Promise<Change> {
  checkEntity(schema, entity, 'check(...).put');
  const known = (await compiler.dictionaries?.known([key]))?.[0] ?? key;
  const row = rowOfKey(schema, known, 'check');
  // A text without an id is in no row: nothing can be met there, and it is given none for that.
  if (known !== key) return compiler.purge(row, key, options, condition);
  const prepared = await compiler.prepare(entity, 'put');
  const change = compiler.put(prepared, options);
  if (equalBytes(change.row, row)) return compiler.onlyIf(change, condition.expects, condition.mismatch!);
  prepared.undo?.();
  throw new QueryError(
    `check(...).put: the entity ${keyText(schema, prepared.entity)} is not the one that is checked. Check its own key.`,
    { details: { entity: schema.name } },
  );
}
