import { toLatin1 } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Get, type Result, type ResultScanner, type Scan, type Table } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor } from '../executor.js';
import type { ChangeStep, EntityChange, MaintainerContext, StepReading } from '../maintainer.js';

/** What maintainers are given on engines whose one step is a row: changes of other rows, and reads. */

/** Applies effects as changes of their own: each is decided on by its row as it is then. `executorOf`: applies an entity's changes. */
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

/**
 * What is decided in one step, on tables that answer later. A function that reads is run until it asks for what is not
 * there yet; that is fetched, and the function is run again. So one rule serves both engines. What it has read is of no
 * one moment then: what is written by it must be checked by the step that writes, or looked at again.
 */

type Answer = Result | readonly Result[];

/** Thrown where the next answer is missing. */
class Missing {
  constructor(readonly fetch: () => Promise<Answer>) {}
}

/** `tableOf`: a table by its name. */
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

/** Rows fetched at once. */
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
