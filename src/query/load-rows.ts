/** Makes entities of all rows of a reading: in this turn as long as they are there, and then as they come. */

import { throwIfAborted } from '../errors.js';
import type { RowLoader } from './loader.js';
import type { RowCursor } from './row-cursor.js';

/** Rows after which other events get their turn. */
export const ROWS_AT_ONCE = 8192;

interface Loading {
  readonly reading: RowCursor;
  /** Of each entity of the plan. */
  readonly loaders: readonly RowLoader[];
  readonly take: (item: object) => void;
  readonly signal: AbortSignal | undefined;
}

/** Gives every entity to `take`, and closes the reading. A promise only where something must be waited for. */
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

/** A promise from the first row on that must be waited for. */
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

/** `next`: whether there is a row; `first`: that one, if it is being loaded already. */
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
