/**
 * Simulates servers that crash before their log is synced. Some of the changes that ask for no sync (`ASYNC_WAL`) are answered, and
 * lost. Each is lost for itself, as if each row were on a server of its own.
 */

import {
  type BatchAction,
  type BatchOptions,
  type BatchOutcome,
  CheckAndMutate,
  Delete,
  type Engine,
  Get,
  type RowMutation,
  type Table,
} from '../../src/table/index.js';

export class UnsyncedChanges {
  /** The number of changes that were lost. */
  lost = 0;

  /** @param isLost whether the next change is lost. */
  constructor(public isLost: () => boolean) {}

  /** An engine as programs see it. */
  seen(engine: Engine): Engine {
    return new Proxy(engine, {
      get: (target, name) => {
        if (name === 'table') return (table: string) => this.wrap(target.table(table));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private wrap(table: Table): Table {
    return new Proxy(table, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'batch') return value.bind(target);
        return (actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> =>
          target.batch(
            actions.map((action) => this.arrived(action)),
            options,
          );
      },
    });
  }

  /** A lost change has the answer that it would have had: its condition is checked, and nothing is changed. */
  private arrived(action: BatchAction): BatchAction {
    if (action instanceof Get || !mutationsOf(action).every(({ durability }) => durability === 'ASYNC_WAL'))
      return action;
    if (!this.isLost()) return action;
    this.lost++;
    const nothing = new Delete(action.row).addColumn(familyOf(action), 'none', 1);
    return action instanceof CheckAndMutate ? CheckAndMutate.ifMatches(columnOf(action), nothing) : nothing;
  }
}

type Change = Exclude<BatchAction, Get>;

function mutationsOf(change: Change): readonly RowMutation[] {
  if (change instanceof CheckAndMutate) return mutationsOf(change.action);
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

function familyOf(change: Change): string {
  const [first] = mutationsOf(change) as [RowMutation];
  return ('cells' in first ? first.cells : first.columns)[0]!.family;
}

function columnOf({ condition }: CheckAndMutate): Extract<CheckAndMutate['condition'], { kind: 'column' }> {
  if (condition.kind !== 'column') throw new Error('Its condition is a filter.');
  return condition;
}
