/**
 * An engine that stamps changes as HBase's servers do: with the millisecond in which they are applied. Of two changes of one
 * millisecond a delete wins, whichever came first (R32). Requests and answers take time, so those of several programs interleave.
 */

import type { BatchAction, BatchOptions, BatchOutcome, Engine, Table } from '../../src/table/index.js';
import {
  CellType,
  Delete,
  type Get,
  LATEST_TIMESTAMP,
  type OperationOptions,
  Put,
  type RowMutation,
  RowMutations,
} from '../../src/table/index.js';

export interface ServerTimes {
  /** The servers' time, ms. */
  readonly clock: () => number;
  /** Passes while a request, or its answer, is under way. */
  readonly transit: () => Promise<void>;
}

/** The engine for another program. Changes of all programs are applied one after another, each with the time at which it is. */
export class StampingServer {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly of: Engine,
    private readonly times: ServerTimes,
  ) {}

  engine(): Engine {
    return new Proxy(this.of, {
      get: (target, name) =>
        name === 'table' ? (table: string) => this.stamping(target.table(table)) : bound(target, name),
    });
  }

  private stamping(table: Table): Table {
    const { transit } = this.times;
    const one = async (action: BatchAction, options?: OperationOptions) => {
      const outcome = await this.apply(table, action, options);
      if (!outcome.ok) throw outcome.error;
      return outcome;
    };
    const resultOf = async (action: BatchAction, options?: OperationOptions) =>
      (await one(action, options)).result;
    const done = async (action: BatchAction, options?: OperationOptions) => {
      await one(action, options);
    };
    const calls: Partial<Table> = {
      put: done,
      delete: done,
      increment: resultOf,
      append: resultOf,
      mutateRow: resultOf,
      get: resultOf,
      getAll: (gets: readonly Get[], options) => Promise.all(gets.map((get) => resultOf(get, options))),
      checkAndMutate: async (check, options) => {
        const { success, result } = await one(check, options);
        return { success: success === true, result };
      },
      batch: (actions, options?: BatchOptions) =>
        Promise.all(actions.map((action) => this.apply(table, action, options))),
      exists: async (get, options) => {
        await transit();
        return table.exists(get, options);
      },
    };
    return new Proxy(table, {
      get: (target, name) => (name in calls ? Reflect.get(calls, name) : bound(target, name)),
    });
  }

  private async apply(table: Table, action: BatchAction, options?: OperationOptions): Promise<BatchOutcome> {
    const { transit, clock } = this.times;
    await transit();
    const applied = this.last.then(() => table.batch([stamped(action, clock())], options));
    this.last = applied.catch(() => undefined);
    const [outcome] = await applied;
    await transit();
    return outcome!;
  }
}

function stamped(action: BatchAction, now: number): BatchAction {
  if (!('kind' in action)) return action;
  if (action.kind !== 'checkAndMutate') return changeAt(action, now);
  return action.withAction(changeAt(action.action, now));
}

function changeAt<C extends RowMutation | RowMutations>(change: C, now: number): C;
function changeAt(change: RowMutation | RowMutations, now: number): RowMutation | RowMutations {
  if (change.kind === 'rowMutations')
    return new RowMutations(change.row).add(...change.mutations.map((each) => changeAt(each, now)));
  if (change.kind !== 'put' && change.kind !== 'delete') return change;
  const time = change.timestamp === LATEST_TIMESTAMP ? now : change.timestamp;
  const copy = change.kind === 'put' ? new Put(change.row, time) : new Delete(change.row, time);
  copy.setTtl(change.ttl, { optional: change.ttlIsOptional }).setDurability(change.durability);
  for (const cell of change.cells) {
    // The newest version, whatever its time.
    const isNewest = cell.type === CellType.Delete;
    copy.cells.push(cell.timestamp === LATEST_TIMESTAMP && !isNewest ? { ...cell, timestamp: now } : cell);
  }
  return copy;
}

function bound(of: object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(of, name, of);
  return typeof value === 'function' ? value.bind(of) : value;
}
