import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { type Database, type OpenOptions, open } from '../database.js';
import { InvalidArgumentError } from '../errors.js';
import { schemaOf } from '../mapper/index.js';
import type { Explanation, QueryExplanation } from '../query/index.js';
import type { Input, KeyedClass } from '../schema/entity-types.js';
import type { EmbeddedEngine } from '../store/engine.js';
import { entityMaker } from '../tools/index.js';
import { MemoryFileSystem } from './fs/memory-fs.js';

// — A database without a disk.

/** Options of {@link openMemory}: those of `open`, with a disk in memory in place of the folder. */
export interface MemoryOptions
  extends Omit<OpenOptions, 'path' | 'fileSystem' | 'background' | 'readOnly' | 'refreshEvery'> {
  /**
   * The disk in memory; default a new one. Pass the same disk to reopen a closed database, or the result of its
   * `crash` to open the database as a loss of power leaves it.
   */
  readonly disk?: MemoryFileSystem;
}

/**
 * Opens the embedded engine on a disk in memory: the same engine, semantics and file formats, without files. Each
 * call has a store of its own, so tests can run in parallel. Flushes and compactions run in this thread.
 * @throws SchemaError as `open`.
 *
 * @example
 * ```ts
 * const db = await openMemory({ entities: [Customer, Order] });
 * ```
 */
export async function openMemory(options: MemoryOptions): Promise<Database<EmbeddedEngine>> {
  const { disk = new MemoryFileSystem(), ...rest } = options;
  return openOn(disk, '/memory', rest);
}

/** The options with which each database in memory was opened. */
const openings = new WeakMap<Database<EmbeddedEngine>, Opening>();

interface Opening {
  readonly disk: MemoryFileSystem;
  readonly options: Omit<MemoryOptions, 'disk'>;
}

/** The number of the next fork. */
let forks = 0;

async function openOn(
  disk: MemoryFileSystem,
  path: string,
  options: Omit<MemoryOptions, 'disk'>,
): Promise<Database<EmbeddedEngine>> {
  const db = await open({ ...options, path, fileSystem: disk, background: 'inline' });
  openings.set(db, { disk, options });
  return db;
}

/**
 * Opens a copy of a database of {@link openMemory} as it is now, with the same options. Neither sees later writes of the other.
 * The copy shares the files of the original and copies only its log, so a test suite stores its data once and each test
 * changes a copy. Its memory is freed when both are closed and no longer used.
 * @throws InvalidArgumentError on a database that `openMemory` or `forkMemory` did not open; RowanError `ERR_CLOSED`.
 *
 * @example
 * ```ts
 * const db = await forkMemory(seeded);
 * ```
 */
export async function forkMemory(db: Database<EmbeddedEngine>): Promise<Database<EmbeddedEngine>> {
  const opening = openings.get(db);
  if (opening === undefined) {
    throw new InvalidArgumentError(
      'forkMemory copies a database of openMemory or of forkMemory, and no other.',
    );
  }
  const path = `/fork-${++forks}`;
  await db.engine.checkpoint(path);
  return openOn(opening.disk, path, opening.options);
}

// — A clock for tests: time passes only when it is told to.

/** A clock that tests set: pass it as the option `clock`. Made by {@link settableClock}. */
export interface SettableClock {
  /** The time it shows, ms since 1970. */
  (): number;
  /** Sets the time, ms or a Date; it may be earlier. @throws InvalidArgumentError on an invalid time. */
  set(time: number | Date): void;
  /**
   * Advances the clock by this many milliseconds. @throws InvalidArgumentError unless it is a whole number, 0 or
   * more.
   */
  advance(milliseconds: number): void;
}

/**
 * Returns a clock that changes only when it is set. Timestamps of cells, time to live, `@CreatedAt` and `@UpdatedAt`
 * of a database opened with it follow it.
 *
 * @param start The initial time, ms or a Date; default 2026-01-01T00:00:00Z.
 * @example
 * ```ts
 * const clock = settableClock();
 * const db = await openMemory({ entities: [Session], clock });
 * clock.advance(30 * 60_000); // half an hour later: what has a shorter time to live is gone
 * ```
 * @throws InvalidArgumentError when the start is no time.
 */
export function settableClock(start: number | Date = Date.UTC(2026, 0, 1)): SettableClock {
  let now = timeOf(start);
  return Object.assign(() => now, {
    set: (time: number | Date) => {
      now = timeOf(time);
    },
    advance: (milliseconds: number) => {
      if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
        throw new InvalidArgumentError(
          `advance takes whole milliseconds from 0 on, not ${String(milliseconds)}. To go back, use set.`,
        );
      }
      now = timeOf(now + milliseconds);
    },
  });
}

function timeOf(time: number | Date): number {
  const ms = time instanceof Date ? time.getTime() : time;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new InvalidArgumentError(
    `A clock shows milliseconds since 1970, a whole number from 0 on, or a Date, not ${String(time)}.`,
  );
}

// — Holds the plan of a query to what a test expects of it.

/**
 * The expected plan: any fields of `explain()`. `filters` may be given in part, `ranges` also as their number.
 * Omitted fields may have any value.
 */
export interface PlanExpectation extends Partial<Omit<QueryExplanation, 'filters' | 'ranges'>> {
  readonly filters?: Partial<QueryExplanation['filters']>;
  readonly ranges?: number | QueryExplanation['ranges'];
}

/**
 * Throws unless the query's plan is the expected one. Reads nothing and sends nothing. Use it in a test that a query
 * remains a single range with its conditions pushed to the engine when keys and conditions change.
 *
 * @example
 * ```ts
 * expectPlan(orders.find({ customerId: 'c1' }).where({ status: 'open' }), { kind: 'range', filters: { local: [] } });
 * ```
 * @throws AssertionError of node:assert, which every test runner shows; its message has the whole plan.
 *   InvalidArgumentError when the expectation names no field of a plan.
 */
export function expectPlan(query: { explain(): Explanation }, expected: PlanExpectation): void {
  const explanation = query.explain();
  const plan = explanation as QueryExplanation & Readonly<Record<string, unknown>>;
  const wrong: string[] = [];
  for (const [field, wanted] of Object.entries(expected)) {
    if (wanted === undefined) continue;
    if (!(field in plan)) {
      throw new InvalidArgumentError(
        `expectPlan: a plan has no field "${field}". It has ${Object.keys(plan).join(', ')}.`,
      );
    }
    if (field === 'ranges' && typeof wanted === 'number')
      compare('ranges.length', plan.ranges.length, wanted);
    else if (field === 'filters') {
      for (const [kind, filters] of Object.entries(wanted as Record<string, unknown>)) {
        compare(`filters.${kind}`, (plan.filters as Record<string, unknown>)[kind], filters);
      }
    } else compare(field, plan[field], wanted);
  }
  if (wrong.length === 0) return;
  throw new AssertionError({
    message: `The plan is not as expected.\n${wrong.join('\n')}\n\n${String(explanation)}`,
    actual: plan,
    expected,
    stackStartFn: expectPlan,
  });

  function compare(field: string, actual: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(actual, wanted)) return;
    wrong.push(`  ${field}: expected ${JSON.stringify(wanted)}, the plan has ${JSON.stringify(actual)}`);
  }
}

// — Makes entities for tests: complete entities from defaults, with the properties that a test sets.

/** Makes and stores entities of one class. */
export interface Fixture<C extends KeyedClass> {
  /** Returns the next entity of the defaults, with these properties replaced. Stores nothing. */
  build(properties?: Partial<Input<C>>): Input<C>;
  /** As {@link build}, and puts it. */
  store(db: Database, properties?: Partial<Input<C>>): Promise<Input<C>>;
  /** Stores this many entities, in one call. @throws InvalidArgumentError unless it is a whole number, 0 or more. */
  storeMany(db: Database, count: number, properties?: Partial<Input<C>>): Promise<Input<C>[]>;
}

/**
 * Returns a fixture of an entity class. `defaults` is called with 1, 2, 3, … and returns a complete entity, so that
 * each has a key of its own.
 *
 * @example
 * ```ts
 * const aCustomer = fixture(Customer, (n) => ({ customerId: `c${n}`, name: `Customer ${n}` }));
 * const ada = await aCustomer.store(db, { name: 'Ada' });
 * ```
 */
export function fixture<C extends KeyedClass>(target: C, defaults: (n: number) => Input<C>): Fixture<C> {
  let made = 0;
  const build = (properties: Partial<Input<C>> = {}): Input<C> => ({ ...defaults(++made), ...properties });
  return {
    build,
    async store(db, properties) {
      const entity = build(properties);
      await db.repository(target).put(entity);
      return entity;
    },
    async storeMany(db, count, properties) {
      if (!Number.isSafeInteger(count) || count < 0) {
        throw new InvalidArgumentError(
          `storeMany takes a whole number of entities from 0 on, not ${String(count)}.`,
        );
      }
      const entities = Array.from({ length: count }, () => build(properties));
      await db.repository(target).putMany(entities);
      return entities;
    },
  };
}

/** A faker that can be seeded, as `@faker-js/faker` has it. */
export interface SeededFaker {
  seed(seed: number): unknown;
}

/** The properties that a test decides: a value, or a function of the number of the entity, from 1 on, and the faker. */
export type FactoryValues<C extends KeyedClass, F = undefined> = {
  readonly [P in keyof Input<C>]?: Input<C>[P] | ((n: number, faker: F) => Input<C>[P]);
};

/** How a factory makes values. */
export interface FactoryOptions<F = undefined> {
  /** From 0 to 2^32 - 1, default 0: equal seeds give equal entities. */
  readonly seed?: number;
  /** Passed to functions. It is seeded before each entity, so that these are equal for equal seeds, too. */
  readonly faker?: F;
}

/**
 * Returns a fixture whose entities are valid by their declaration: each key part and column that the program sets has a
 * value that its codec takes. The last part of the key counts up. `values` replaces those with a meaning to the test.
 *
 * @example
 * ```ts
 * const aTicket = factory(Ticket, { tenantId: 't1', subject: (n, f) => f.lorem.sentence() }, { seed: 7, faker });
 * const tickets = await aTicket.storeMany(db, 100);
 * ```
 * @throws InvalidArgumentError on an invalid seed, or a value for a property that does not exist; SchemaError on a
 * column whose codec is not one of Rowan's and that has no value.
 */
export function factory<C extends KeyedClass, F extends SeededFaker | undefined = undefined>(
  target: C,
  values: FactoryValues<C, F> = {},
  { seed = 0, faker }: FactoryOptions<F> = {},
): Fixture<C> {
  const entity = schemaOf(target);
  const names = [...entity.key.parts.map(({ name }) => name), ...entity.columns.map(({ path }) => path[0]!)];
  const given = Object.entries<unknown>(values).filter(([, value]) => value !== undefined);
  const unknown = given.find(([name]) => !names.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `factory(${entity.name}): it has no property "${unknown[0]}". It has ${[...new Set(names)].join(', ')}.`,
    );
  }
  const make = entityMaker(entity, seed, new Set(given.map(([name]) => name)));
  return fixture(target, (n) => {
    faker?.seed((seed + n) % 2 ** 32);
    const chosen = given.map(([name, value]) => [
      name,
      typeof value === 'function' ? (value as (n: number, faker: unknown) => unknown)(n, faker) : value,
    ]);
    return { ...make(n - 1), ...Object.fromEntries(chosen) } as Input<C>;
  });
}
