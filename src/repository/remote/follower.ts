import { toLatin1 } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Get, type Result, type ResultScanner, type Scan, type Table } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, ChangeImage, ChangeStep, EntityChange, OwnColumn } from '../executor.js';

/** What follows the rows of an entity where one step of the engine is one row. */

/**
 * Keeps what follows from rows of one entity. `amend` and `follow` are asked before the row is written, and asked again when
 * what they read has arrived: they change nothing. `settle` is called behind the write, and again by whoever finds that a
 * writer has not come to its end: it goes by what the row is now, not by what was changed, so that to call it once more does
 * no harm, and two that run at once end in the same.
 */
export interface Follower {
  readonly name: string;
  /** Columns of the row itself that are other than the change leaves them. */
  amend?(change: ChangeImage, step: ChangeStep): readonly OwnColumn[];
  /** Whether anything is to follow the change. @throws what keeps it out. */
  follow(change: ChangeImage, step: ChangeStep): boolean;
  /**
   * Makes what follows from the row what it should be. `share`: how many rows at most may be changed for it in the writer's
   * own time. `settledAfter`: milliseconds after which what another has begun is nobody's.
   * @returns whether that is done; else it is left for the outbox.
   */
  settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean>;
  /**
   * Before that is done in the place of another: fences the rows that he may have changed for it, so that what he has sent
   * takes no effect when it comes late. @returns whether it has; not where others were changing them.
   */
  fence?(row: Uint8Array): Promise<boolean>;
}

/** Whether a writer waits for what follows, who is not to be kept longer than was declared. */
export type Share = 'all' | 'declared';

/** Changes rows of entities, each with what takes part in that; the number of those that had something to change. */
export type Following = (changes: readonly EntityChange[]) => Promise<number>;

/** What followers take from their database. */
export interface FollowerContext {
  readonly reading: Reading;
  readonly following: Following;
  /** Fences rows of an entity; see {@link DataRows.fence}. Whether none was being changed by others. */
  fence(entity: EntitySchema, rows: readonly Uint8Array[]): Promise<boolean>;
  now(): number;
}

/** Changes that follow others, as changes of their own: each is decided on by the row as it is then. */

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

/**
 * What is decided in one step, on tables that answer later. A function that reads is run until it asks for what is not
 * there yet; that is fetched, and the function is run again. So one rule serves both engines. What it has read is of no
 * one moment then: what is written by it must be checked by the step that writes, or looked at again.
 */

/** Runs what reads in a step. It must ask for the same when it is given the same, and change nothing. */
export type Reading = <T>(run: (step: ChangeStep) => T) => Promise<T>;

type Answer = Result | readonly Result[];

/** What is thrown where the next answer is missing. */
class Missing {
  constructor(readonly fetch: () => Promise<Answer>) {}
}

/** `tableOf`: a table by its name. */
export function readingFrom(tableOf: (name: string) => Table): Reading {
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
