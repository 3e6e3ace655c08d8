/** Changes that follow others, as changes of their own: each is decided on by the row as it is then. */

import { toLatin1 } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Get } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, EntityChange } from '../executor.js';
import type { Following } from './follower.js';

/** `executorOf`: what applies the changes of an entity with all that takes part in them. */
export function followingWith(executorOf: (entity: EntitySchema) => ChangeExecutor): Following {
  return async (changes) => {
    const changed = new Set<string>();
    const byEntity = new Map<EntitySchema, Change[]>();
    for (const change of changes) {
      const name = `${change.entity.name} ${toLatin1(change.row)}`;
      const compiled = compiledOf(change, (changes) => {
        if (changes) changed.add(name);
        else changed.delete(name);
      });
      const own = byEntity.get(change.entity);
      if (own === undefined) byEntity.set(change.entity, [compiled]);
      else own.push(compiled);
    }
    for (const [entity, own] of byEntity) {
      const outcomes = await executorOf(entity).runAll(own, undefined);
      for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    }
    return changed.size;
  };
}

/** `onResolve`: told at each attempt whether there is something to change. */
function compiledOf(change: EntityChange, onResolve: (changes: boolean) => void): Change {
  const { operation, row, resolve, settled } = change;
  return {
    operation,
    row,
    expects: [],
    mismatch: undefined,
    reads: new Get(row),
    resolve: (before) => {
      const mutations = resolve(before!);
      onResolve(mutations.length > 0);
      return { mutations, seen: [] };
    },
    isAmended: settled !== undefined,
    settled: undefined,
    failed: undefined,
  };
}
