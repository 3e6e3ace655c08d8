/** Streams of the studio: committed changes, and the progress of a check of an index. */

import { QueryError, RowanError, UnsupportedError } from '../../errors.js';
import { storedValue } from '../../key/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { EntitySchema } from '../../schema/types.js';
import type { IndexProgress, Json, LiveChange, ValueShown } from './api.js';
import { parseQuestion, problemOf, readQuestion, repositoryOf } from './questions.js';
import type { StudioCheck, StudioDatabase } from './studio-database.js';
import { LIST_CHARACTERS, shownValue, storedProperty } from './values.js';

/**
 * Changes of an entity from now on, below the key prefix of a question, until the signal.
 * @throws QueryError when the entity keeps no changes; UnsupportedError on a store that is only read.
 */
export async function* liveChanges(
  db: StudioDatabase,
  entity: string,
  question: string | null,
  signal: AbortSignal,
): AsyncGenerator<LiveChange, void> {
  const { schema, key } = readQuestion(db, entity, parseQuestion(question), signal);
  if (schema.changesKept === undefined || db.watch === undefined)
    throw new QueryError(
      `${entity} keeps no changes. Declare @Entity({ changes: { keep } }) to watch it (docs/changes.md).`,
    );
  const feed = db.watch(schema.target as KeyedClass, equalParts(key), { signal });
  await feed.ready();
  for await (const { time, changes } of feed) {
    for (const { operation, before, after } of changes) {
      yield {
        entity,
        operation,
        time: time.getTime(),
        before: propertiesOf(schema, before),
        after: propertiesOf(schema, after),
      };
    }
  }
}

/** A feed takes a prefix of equal parts. */
function equalParts(key: Readonly<Record<string, unknown>>): Record<never, never> {
  const ranged = Object.entries(key).find(
    ([, value]) =>
      typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype,
  );
  if (ranged === undefined) return key;
  throw new QueryError(`A feed is of leading parts that are equal to a value; ${ranged[0]} has a range.`);
}

function propertiesOf(
  { key, columns }: EntitySchema,
  entity: object | undefined,
): Record<string, ValueShown> | null {
  if (entity === undefined) return null;
  const shown: Record<string, ValueShown> = {};
  const properties = [
    ...key.parts.map(({ name, codec }) => [[name], (value: unknown) => storedValue(codec, value)] as const),
    ...columns.map((column) => [column.path, (value: unknown) => storedProperty(column, value)] as const),
  ];
  for (const [path, stored] of properties) {
    const value = path.reduce<unknown>(
      (inside, name) =>
        typeof inside === 'object' && inside !== null ? Reflect.get(inside, name) : undefined,
      entity,
    );
    if (value !== undefined) shown[path.join('.')] = shownValue(stored(value), LIST_CHARACTERS);
  }
  return shown;
}

/**
 * Checks an index against its rows, or repairs it, and tells how far it has come. The last item has the report.
 * @throws QueryError when there is no such entity or index.
 */
export async function* indexCheck(
  db: StudioDatabase,
  { entity, index, repair }: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): AsyncGenerator<IndexProgress, void> {
  const { schema } = repositoryOf(db, String(entity));
  if (db.engine.capabilities.readOnly === true)
    throw new UnsupportedError('A store that is only read keeps no checkpoints of a check.');
  const handle = db.index?.(schema.target as KeyedClass, String(index) as never);
  if (handle === undefined)
    throw new QueryError(
      `${schema.name} has no index. Declare one: static readonly indexes = { name: index(…) }.`,
    );
  const told: IndexProgress[] = [];
  let wake: () => void = () => undefined;
  const tell = (progress: IndexProgress): void => {
    told.push(progress);
    wake();
  };
  const onProgress: StudioCheck['run']['onProgress'] = ({ phase, fraction, rows }): void =>
    tell({ phase: String(phase), fraction, rows });
  let ended = false;
  const run: StudioCheck = { run: { signal, onProgress, restart: true } };
  void (repair === true ? handle.repair(run) : handle.verify(run))
    .then(
      (report) => tell({ phase: 'done', fraction: 1, rows: 0, report: { ...report } as unknown as Json }),
      (error: unknown) => tell({ phase: 'failed', fraction: 1, rows: 0, problem: problemOf(error) }),
    )
    .finally(() => {
      ended = true;
      wake();
    });
  for (;;) {
    const next = told.shift();
    if (next !== undefined) yield next;
    else if (ended) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

/** An error as an event of a stream. */
export function problemEvent(error: unknown): string {
  const problem = problemOf(error);
  return `event: problem\ndata: ${JSON.stringify(error instanceof RowanError ? problem : { ...problem, code: 'ERR_STUDIO' })}\n\n`;
}
