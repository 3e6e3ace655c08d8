import { toLatin1 } from '../../bytes/index.js';
import { isWriteRefused, RowanError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type AtomicStep,
  type Engine,
  Get,
  type Result,
  type ResultScanner,
  type Scan,
  type SyncTable,
  type Table,
} from '../../table/index.js';
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
  const { operation, row, resolve, finalColumns } = change;
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
    isAmended: finalColumns !== undefined,
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
  return async (run, options) => {
    const answers: Answer[] = [];
    for (;;) {
      let asked = 0;
      const next = <A extends Answer>(fetch: () => Promise<A>): A => {
        if (asked === answers.length) throw new Missing(fetch);
        return answers[asked++] as A;
      };
      const step: ChangeStep = {
        read: (get: Get, table: string) => next(() => tableOf(table).get(get, options)),
        scan: (scan: Scan, table: string) => next(() => all(tableOf(table).scan(scan, options))),
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

/**
 * Runs functions that read in atomic steps of a table. Where nothing can be written, as on a store that is opened to be read only or
 * whose log has failed, each sees one moment.
 */
export function readingInSteps(
  engine: Pick<Engine, 'table' | 'now' | 'capabilities'>,
  table: string,
): <T>(run: (step: AtomicStep) => T) => Promise<T> {
  const atOnce = readingAtOnce(engine);
  if (engine.capabilities.readOnly === true) return atOnce;
  return async (run) => {
    try {
      return await (engine.table(table) as SyncTable).atomic!(run);
    } catch (error) {
      if (!isWriteRefused(error)) throw error;
      return atOnce(run).catch((again: unknown) => {
        throw isWriteRefused(again) ? error : again;
      });
    }
  };
}

/** Runs functions that read a store as of one moment, and that have nothing to write. */
export function readingAtOnce(
  engine: Pick<Engine, 'table' | 'now'>,
): <T>(run: (step: AtomicStep) => T) => Promise<T> {
  const tableOf = (name: string | undefined): SyncTable => engine.table(name!) as SyncTable;
  return async (run) =>
    run({
      time: engine.now(),
      isShared: false,
      read: (get, table) => tableOf(table).getSync(get),
      scan: (scan, table) => [...tableOf(table).scanSync(scan)],
      apply: ({ table }) => {
        throw new RowanError(
          'ERR_READONLY',
          `This has to write table "${table}", and nothing can be written here. Do it in a process that can write the store.`,
          { details: { table } },
        );
      },
      attempt: (work) => work(),
    });
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
