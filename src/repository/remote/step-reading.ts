import { toLatin1 } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Get, type Result, type ResultScanner, type Scan, type Table } from '../../table/index.js';
import type { Change, ChangeExecutor } from '../change.js';
import type { ChangeStep, EntityChange, MaintainerContext, StepReading } from '../maintainer.js';

/** Applies effects on other rows as separate changes, each resolved with its row as read then. `executorOf`: applies an entity's changes. */
export function applyingWith(
  executorOf: (entity: EntitySchema) => ChangeExecutor,
): MaintainerContext['applyChanges'] {
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

/** `onResolve` is called at each attempt, with whether the row changes. */
function compiledOf(change: EntityChange, onResolve: (changes: boolean) => void): Change {
  const { operation, row, resolve, finalColumns: settled } = change;
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
    onApplied: undefined,
    onFailed: undefined,
  };
}

type Answer = Result | readonly Result[];

/** Thrown by a read whose answer has not been fetched. */
class Missing {
  constructor(readonly fetch: () => Promise<Answer>) {}
}

/**
 * Runs synchronous functions that read over asynchronous tables, so that maintainers are written once for both engines. A function runs
 * until a read lacks its answer; the answer is fetched, and the function runs again. The answers are not of one moment: a write that
 * depends on them must check them, or read again after it.
 * @param tableOf a table by its name.
 */
export function readingFrom(tableOf: (name: string) => Table): StepReading {
  return async (run) => {
    const answers: Answer[] = [];
    for (;;) {
      let asked = 0;
      const next = <A extends Answer>(fetch: () => Promise<A>): A => {
        if (asked === answers.length) throw new Missing(fetch);
        return answers[asked++] as A;
      };
      const step: ChangeStep = {
        read: (get: Get, table: string) => next(() => tableOf(table).get(get)),
        scan: (scan: Scan, table: string) => next(() => all(tableOf(table).scan(scan))),
      };
      try {
        return run(step);
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        answers.push(await error.fetch());
      }
    }
  };
}

/** Rows fetched by one call. */
const PAGE = 512;

async function all(scanner: ResultScanner): Promise<readonly Result[]> {
  const found: Result[] = [];
  try {
    for (;;) {
      const page = await scanner.nextBatch(PAGE);
      found.push(...page);
      if (page.length < PAGE) return found;
    }
  } finally {
    await scanner.close();
  }
}
