import { copyBytes } from '../bytes/index.js';
import { throwIfAborted } from '../errors.js';
import type { EntitySchema, RowReader } from '../schema/types.js';
import { RawRow, type Result } from '../table/index.js';
import { recoverAndRetry, recovering, type TableAccess } from './access.js';
import type { ReadPlan } from './read-plan.js';
import { type Finish, keptRow, type Row, type RowCursor } from './row.js';

// — Builds entities from rows.

/** Builds entities, or parts of them, from the rows of one entity. */
export class RowLoader {
  private readonly reader: RowReader;
  private readonly afterLoad: EntitySchema['lifecycle']['afterLoad'];

  /**
   * @param properties the properties to set; undefined: all, and `@AfterLoad` runs. @param finish reduces the loaded
   * entity to what was requested
   */
  constructor(
    schema: EntitySchema,
    private readonly access: TableAccess,
    properties?: ReadonlySet<string>,
    private readonly finish?: Finish,
  ) {
    this.reader = schema.mapper.readerOf(properties);
    this.afterLoad = properties === undefined ? schema.lifecycle.afterLoad : undefined;
  }

  /** Null when the row has no cells. Loads what decoding lacks. */
  load(row: Row): object | null | Promise<object | null> {
    let entity: object | null;
    try {
      entity = row instanceof RawRow ? this.reader.readRaw(row) : this.reader.read(row);
    } catch (error) {
      const kept = keptRow(row);
      return recoverAndRetry(this.access, error, () => this.reader.read(kept)).then((again) =>
        this.done(again),
      );
    }
    return this.done(entity);
  }

  private done(entity: object | null): object | null | Promise<object | null> {
    if (entity === null) return null;
    this.finish?.(entity as Record<string, unknown>);
    if (this.afterLoad === undefined) return entity;
    const hooks = this.afterLoad(entity);
    return hooks instanceof Promise ? hooks.then(() => entity) : entity;
  }
}

/** The entity of a result, after its `@AfterLoad` hooks. Null when there is none. */
export function loadEntity(
  schema: EntitySchema,
  access: TableAccess,
  result: Result,
): object | null | Promise<object | null> {
  return recovering(access, () => new RowLoader(schema, access).load(result));
}

/** Loads the texts of dictionary ids in the keys of rows, in one request to each dictionary. */
export async function loadTexts(layouts: ReadPlan['layouts'], rows: readonly Result[]): Promise<void> {
  for (const layout of layouts) {
    if (layout.dictionaries === undefined) continue;
    const own = rows.filter((result) => !result.isEmpty && layout.matches(result.row));
    if (own.length > 0) await layout.dictionaries.loadTexts(own.map((result) => result.row));
  }
}

/** A row with bytes of its own, its position, and its entity. */
export interface LoadedRow {
  readonly row: Uint8Array;
  readonly place: Uint8Array;
  readonly entity: number;
  readonly item: object | null;
}

export async function nextLoaded(
  reading: RowCursor,
  loaders: readonly RowLoader[],
): Promise<LoadedRow | undefined> {
  if (!(await reading.advance())) return undefined;
  const { entity } = reading;
  const row = copyBytes(reading.row!.row);
  const place = reading.place === undefined ? row : copyBytes(reading.place);
  return { row, place, entity, item: await loaders[entity]!.load(reading.row!) };
}

// — Loads all entities of a reading: synchronously as long as rows are available, then asynchronously.

/** Rows between two turns of the event loop. */
export const ROWS_AT_ONCE = 8192;

interface Loading {
  readonly reading: RowCursor;
  /** The loader of each entity in the plan. */
  readonly loaders: readonly RowLoader[];
  readonly take: (item: object) => void;
  readonly signal: AbortSignal | undefined;
}

/** Passes every entity to `take`, and closes the reading. Returns a promise only where something is asynchronous. */
export function loadRows(
  reading: RowCursor,
  loaders: readonly RowLoader[],
  take: (item: object) => void,
  signal: AbortSignal | undefined,
): Promise<void> | undefined {
  let rest: Promise<void> | undefined;
  try {
    rest = loadAtOnce({ reading, loaders, take, signal });
  } catch (error) {
    rest = Promise.reject(error as Error);
  }
  return rest === undefined ? (reading.close() ?? undefined) : closeAfter(reading, rest);
}

async function closeAfter(reading: RowCursor, work: Promise<void>): Promise<void> {
  try {
    await work;
  } finally {
    await reading.close();
  }
}

/** Returns a promise from the first row on that is asynchronous. */
function loadAtOnce(loading: Loading): Promise<void> | undefined {
  const { reading, loaders, take } = loading;
  for (let count = 1; count < ROWS_AT_ONCE; count++) {
    const more = reading.advance();
    if (typeof more !== 'boolean') return loadRest(loading, count, more);
    if (!more) return undefined;
    const item = loaders[reading.entity]!.load(reading.row!);
    if (item instanceof Promise) return loadRest(loading, count, more, item);
    if (item !== null) take(item);
  }
  return loadRest(loading, ROWS_AT_ONCE, reading.advance());
}

/** `next`: whether there is a row; `first`: the entity that is being loaded already. */
async function loadRest(
  { reading, loaders, take, signal }: Loading,
  from: number,
  next: boolean | Promise<boolean>,
  first?: Promise<object | null>,
): Promise<void> {
  let more = next;
  let loaded: object | null | Promise<object | null> | undefined = first;
  for (let count = from; ; count++) {
    if (!(typeof more === 'boolean' ? more : await more)) return;
    loaded ??= loaders[reading.entity]!.load(reading.row!);
    const item = loaded instanceof Promise ? await loaded : loaded;
    if (item !== null) take(item);
    if (count % ROWS_AT_ONCE === 0) await pause(signal);
    loaded = undefined;
    more = reading.advance();
  }
}

/** Lets other events run. @throws RowanError `ERR_ABORTED`. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  throwIfAborted(signal);
}
