/** One reading of several record types: the entities of one table whose keys begin alike. */

import { compareBytes } from '../bytes/index.js';
import { InvalidArgumentError, QueryError } from '../errors.js';
import { DictionaryLayout } from '../key/index.js';
import type { KeyConditions, KeyPlan, KeyRange } from '../key/types.js';
import type { EntityOf, KeyedClass } from '../schema/entity-types.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { filters, type Result } from '../table/index.js';
import { type FindOptions, iterateLater, loadEntity, timeRangeAt } from './entity-query.js';
import { Explanation, explainRanges, explainReads, maxRows } from './explain.js';
import { describeKeyConditions } from './key-conditions.js';
import type { Page, PageOptions } from './page.js';
import type { ReadSet } from './projection.js';
import type { RunnablePlan } from './reader.js';
import { recovering } from './recover.js';
import { RowQueryRunner } from './row-query.js';
import type { TableAccess } from './source.js';

/** What is asked of several entities. */
export interface CollectionSpec {
  readonly schemas: readonly EntitySchema[];
  readonly key: KeyConditions;
  readonly reversed: boolean;
  readonly limit: number | undefined;
  readonly at: number | undefined;
}

interface CollectionPlan extends RunnablePlan {
  readonly joined: boolean;
}

/** The rows of a collection, by class. */
export class Groups {
  constructor(private readonly items: readonly object[]) {}

  /** The instances of one class, in the order of their keys. */
  of<C extends EntityClass>(target: C): EntityOf<C>[] {
    return this.items.filter((item): item is EntityOf<C> => item instanceof target);
  }
}

/** A lazy, immutable query over several record types of one table. */
export class CollectionQuery<C extends KeyedClass> implements AsyncIterable<EntityOf<C>> {
  constructor(
    private readonly access: TableAccess,
    private readonly spec: CollectionSpec,
    private readonly options: FindOptions,
  ) {}

  /** From the last key to the first. */
  reverse(): CollectionQuery<C> {
    return this.with({ reversed: !this.spec.reversed });
  }

  /** At most this many rows, of whatever type. */
  limit(rows: number): CollectionQuery<C> {
    if (!Number.isSafeInteger(rows) || rows < 0) {
      throw new InvalidArgumentError(`limit takes a whole number of rows, not ${describe(rows)}.`);
    }
    return this.with({ limit: rows });
  }

  /** As the rows were at this time (ms or Date), as far as the families keep old versions and deletes. */
  asOf(time: number | Date): CollectionQuery<C> {
    timeRangeAt(time);
    return this.with({ at: Number(time) });
  }

  signal(signal: AbortSignal): CollectionQuery<C> {
    return new CollectionQuery(this.access, this.spec, { ...this.options, signal });
  }

  private with(change: Partial<CollectionSpec>): CollectionQuery<C> {
    return new CollectionQuery(this.access, { ...this.spec, ...change }, this.options);
  }

  /** What the query will do. Reads nothing and needs no server. */
  explain(): Explanation {
    const { schemas, limit, reversed, at } = this.spec;
    const plan = planCollection(this.spec);
    const limitPushed = limit !== undefined && plan.rowTest === undefined;
    return new Explanation({
      kind: plan.keyPlan.kind,
      entities: schemas.map((schema) => schema.name),
      table: schemas[0]!.table.descriptor.name,
      key: describeKeyConditions(this.spec.key),
      ...explainRanges(plan.keyPlan),
      direction: reversed ? 'reverse' : 'forward',
      filters: { pushed: plan.filter === undefined ? [] : ['rows of these record types only'], local: [] },
      reads: explainReads(plan.read),
      limit: limit ?? null,
      limitPushed,
      maxRows: maxRows(plan.keyPlan, limitPushed ? limit : undefined),
      timeRange: at === undefined ? null : { min: 0, max: at + 1 },
      warnings: [],
    });
  }

  /** Every row, in key order. @throws QueryError when there are more than `max`. */
  async all(options: { readonly max?: number } = {}): Promise<EntityOf<C>[]> {
    return (await this.ready()).all(options.max);
  }

  /** Every row, by class. */
  async groups(options: { readonly max?: number } = {}): Promise<Groups> {
    return new Groups(await this.all(options));
  }

  async page(options: PageOptions): Promise<Page<EntityOf<C>>> {
    return (await this.ready()).page(options);
  }

  async count(): Promise<number> {
    return (await this.ready()).count();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<EntityOf<C>> {
    const runner = this.ready();
    return runner instanceof Promise ? iterateLater(runner) : runner.iterate();
  }

  /** Waits only for the ids of texts that stand in keys as such. */
  private ready(): RowQueryRunner<EntityOf<C>> | Promise<RowQueryRunner<EntityOf<C>>> {
    const { schemas, key } = this.spec;
    if (!schemas.some((schema) => schema.key instanceof DictionaryLayout)) return this.runner(undefined);
    const known = schemas.map(async (schema) =>
      schema.key instanceof DictionaryLayout ? schema.key.knownConditions(key) : key,
    );
    return Promise.all(known).then((keys) => this.runner(keys));
  }

  private runner(keys: readonly KeyConditions[] | undefined): RowQueryRunner<EntityOf<C>> {
    const { spec, access } = this;
    const plan = planCollection(spec, keys);
    const load = (row: Result) =>
      loadRow(spec.schemas, row) as EntityOf<C> | null | Promise<EntityOf<C> | null>;
    return new RowQueryRunner<EntityOf<C>>(
      this.access,
      {
        plan,
        reversedPlan: () => planCollection({ ...spec, reversed: !spec.reversed }, keys),
        scope: { identity: () => identityOf(spec), schemas: spec.schemas },
        load: access.recover === undefined ? load : (row) => recovering(access, () => load(row)),
        loadRaw: undefined,
      },
      { ...this.options, limit: spec.limit },
    );
  }
}

function loadRow(schemas: readonly EntitySchema[], row: Result): object | null | Promise<object | null> {
  for (const schema of schemas) if (schema.key.matches(row.row)) return loadEntity(schema, row);
  return null;
}

/**
 * The ranges of all record types; those that lie side by side behind the same prefix are read in one scan.
 * @throws QueryError when the entities are of several tables or the prefix is missing.
 */
export function planCollection(
  spec: CollectionSpec,
  keys: readonly KeyConditions[] = spec.schemas.map(() => spec.key),
): CollectionPlan {
  const { schemas, key } = spec;
  const first = schemas[0];
  if (first === undefined)
    throw new QueryError('collection() names no entity. Give two or more classes of one table.');
  const other = schemas.find((schema) => schema.table.descriptor.name !== first.table.descriptor.name);
  if (other !== undefined) {
    throw new QueryError(
      `collection() reads one table: ${first.name} is in "${first.table.descriptor.name}", ${other.name} in "${other.table.descriptor.name}".`,
    );
  }
  const plans = schemas.map((schema, i) => schema.key.plan(keys[i]!));
  const offset = plans[0]!.mergeOffset;
  if (Object.keys(key).length === 0 || plans.some((plan) => plan.kind === 'full')) {
    throw new QueryError(
      `collection() on ${schemas.map((schema) => schema.name).join(', ')} would read the whole table. Give the leading key part ` +
        `"${first.key.parts[0]?.name ?? '?'}" that they share.`,
      { code: 'ERR_FULL_SCAN', details: { table: first.table.descriptor.name } },
    );
  }
  const ranges = plans.flatMap((plan) => plan.ranges).sort((a, b) => compareBytes(a.start, b.start));
  const joined = joinRanges(ranges);
  const exact = plans.every((plan) => plan.check === undefined && plan.inexactParts.length === 0);
  const keyPlan: KeyPlan = {
    kind: joined.length === 1 ? 'range' : 'ranges',
    ranges: joined,
    order: orderOf(plans, joined.length),
    mergeOffset: offset,
    fanOut: Math.max(...plans.map((plan) => plan.fanOut)),
    residual: undefined,
    check: undefined,
    inexactParts: [],
  };
  const onlyTheirs = (row: Result): boolean => plans.some((plan, i) => belongs(schemas[i]!, plan, row.row));
  return {
    keyPlan,
    read: readFamiliesOf(schemas),
    filter: joined.length < ranges.length ? rangesFilter(ranges) : undefined,
    rowTest: exact ? undefined : onlyTheirs,
    timeRange: spec.at === undefined ? undefined : timeRangeAt(spec.at),
    reversed: spec.reversed,
    joined: joined.length < ranges.length,
  };
}

function belongs(schema: EntitySchema, plan: KeyPlan, row: Uint8Array): boolean {
  if (!schema.key.matches(row)) return false;
  const inRange = plan.ranges.some(
    (range) =>
      compareBytes(range.start, row) <= 0 && (range.stop === undefined || compareBytes(row, range.stop) < 0),
  );
  return inRange && (plan.check === undefined || plan.check(row));
}

function orderOf(plans: readonly KeyPlan[], ranges: number): KeyPlan['order'] {
  const merged = plans.every((plan) => plan.order === 'merge' && plan.mergeOffset === plans[0]!.mergeOffset);
  if (merged) return 'merge';
  return ranges === 1 || plans.every((plan) => plan.order === 'sequence') ? 'sequence' : 'none';
}

/** A record type takes this many bytes of a key at most. */
const RECORD_TYPE_LENGTH = 2;

/** Joins neighbours whose starts differ only in their last bytes: the record types behind one prefix. */
function joinRanges(ranges: readonly KeyRange[]): KeyRange[] {
  const joined: KeyRange[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (last !== undefined && areNeighbours(last.start, range.start)) {
      joined[joined.length - 1] = { start: last.start, stop: laterStop(last.stop, range.stop) };
    } else {
      joined.push(range);
    }
  }
  return joined;
}

function areNeighbours(a: Uint8Array, b: Uint8Array): boolean {
  const shorter = Math.min(a.length, b.length);
  let common = 0;
  while (common < shorter && a[common] === b[common]) common++;
  return common > 0 && common >= shorter - RECORD_TYPE_LENGTH;
}

function laterStop(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (a === undefined || b === undefined) return undefined;
  return compareBytes(a, b) > 0 ? a : b;
}

/** Drops the rows of other record types that lie between; engines skip over them. */
function rangesFilter(ranges: readonly KeyRange[]): ReturnType<typeof filters.multiRowRange> {
  return filters.multiRowRange(
    ranges.map((range) => ({
      startRow: range.start,
      startInclusive: true,
      stopRow: range.stop ?? new Uint8Array(0),
      stopInclusive: false,
    })),
  );
}

function readFamiliesOf(schemas: readonly EntitySchema[]): ReadSet {
  const all = schemas[0]!.table.descriptor.families.map((family) => family.name);
  const names = all.filter((name) => schemas.some((schema) => schema.families.includes(name)));
  return {
    families: new Map(names.map((name) => [name, null])),
    everything: names.length === all.length,
    properties: undefined,
    versions: 1,
  };
}

function identityOf(spec: CollectionSpec): string {
  return JSON.stringify([
    'collection',
    spec.schemas.map((schema) => schema.name),
    describeKeyConditions(spec.key),
    spec.reversed ? 'reverse' : 'forward',
    spec.at ?? '',
  ]);
}
