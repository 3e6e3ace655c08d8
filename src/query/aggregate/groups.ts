/** Figures for each group of rows, worked out in one pass. */

import { toLatin1 } from '../../bytes/index.js';
import { QueryError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { ValueComparator } from '../compare.js';
import { checkNames } from '../option-checks.js';
import type { Fold } from './aggregate.js';
import { type AggregateSet, codecOf, comparatorOf, readerOf, type ValueReader } from './aggregates.js';

/** Groups held in memory unless more are allowed. */
export const DEFAULT_MAX_GROUPS = 100_000;

/** Options of grouped figures. */
export interface GroupOptions {
  /** Groups that may be held in memory; more are an error. Default 100,000. */
  readonly maxGroups?: number;
}

interface Group {
  readonly values: readonly unknown[];
  readonly folds: readonly Fold<unknown>[];
}

/** Told apart by the values of some properties. */
interface Level extends Map<unknown, Level | Group> {}

/** Collects the groups of a query's rows. */
export class Grouping {
  private readonly readers: readonly ValueReader[];
  private readonly identities: readonly ((value: unknown) => unknown)[];
  private readonly compare: readonly ValueComparator[];
  private readonly starts: readonly (readonly [string, () => Fold<unknown>])[];
  private readonly root: Level = new Map();
  private readonly groups: Group[] = [];

  /** @throws QueryError when a property has no order, or two results have one name. */
  constructor(
    private readonly schema: EntitySchema,
    private readonly properties: readonly string[],
    figures: AggregateSet,
    private readonly maxGroups: number,
  ) {
    this.readers = properties.map((property) => readerOf(schema, property, 'groupBy'));
    this.identities = properties.map((property) => identityOf(codecOf(schema, property)!.name));
    this.compare = properties.map((property) => comparatorOf(schema, property, 'groupBy'));
    this.starts = Object.entries(figures).map(([name, figure]) => [name, figure.start] as const);
    for (const [name] of this.starts) {
      if (properties.includes(name)) {
        throw new QueryError(
          `groupBy: "${name}" is both a property that is grouped by and a figure. Give the figure another name.`,
        );
      }
    }
  }

  readonly add = (entity: Readonly<Record<string, unknown>>): void => {
    const { readers, identities } = this;
    let level = this.root;
    const last = readers.length - 1;
    for (let i = 0; i < last; i++) {
      const key = identities[i]!(readers[i]!(entity));
      let next = level.get(key) as Level | undefined;
      if (next === undefined) {
        next = new Map();
        level.set(key, next);
      }
      level = next;
    }
    const key = last < 0 ? undefined : identities[last]!(readers[last]!(entity));
    let group = level.get(key) as Group | undefined;
    if (group === undefined) {
      group = this.begin(entity);
      level.set(key, group);
    }
    const { folds } = group;
    for (let i = 0; i < folds.length; i++) folds[i]!.add(entity);
  };

  private begin(entity: Readonly<Record<string, unknown>>): Group {
    if (this.groups.length === this.maxGroups) {
      throw new QueryError(
        `groupBy(${this.properties.join(', ')}) on ${this.schema.name} found more than ${this.maxGroups} groups. ` +
          'Group by less, ask for a part of the rows, allow more (maxGroups), or let a job count them (docs/jobs.md).',
        { details: { entity: this.schema.name } },
      );
    }
    const group = { values: this.readers.map((read) => read(entity)), folds: this.folds() };
    this.groups.push(group);
    return group;
  }

  private folds(): Fold<unknown>[] {
    return this.starts.map(([, start]) => start());
  }

  /** The figures of all rows, in one group that is there even when no row is. */
  single(): Record<string, unknown> {
    return this.resultOf(this.groups[0] ?? { values: [], folds: this.folds() });
  }

  /** A result for each group, in the order of the values; absent ones come last. */
  results(): Record<string, unknown>[] {
    this.groups.sort((a, b) => this.compareGroups(a, b));
    return this.groups.map((group) => this.resultOf(group));
  }

  private resultOf({ values, folds }: Group): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [i, property] of this.properties.entries()) result[property] = values[i] ?? null;
    for (const [i, [name]] of this.starts.entries()) result[name] = folds[i]!.result();
    return result;
  }

  private compareGroups(a: Group, b: Group): number {
    for (const [i, compare] of this.compare.entries()) {
      const left = a.values[i];
      const right = b.values[i];
      const order =
        left === undefined || right === undefined
          ? Number(left === undefined) - Number(right === undefined)
          : compare(left, right);
      if (order !== 0) return order;
    }
    return 0;
  }
}

/** Equal values have one identity in a Map: 1.5 and 1.50 too. */
function identityOf(codecName: string): (value: unknown) => unknown {
  const decimals = codecName.includes('decimal');
  return (value) => {
    if (value instanceof Date) return value.getTime();
    if (value instanceof Uint8Array) return toLatin1(value);
    return decimals && typeof value === 'string' ? withoutTrailingZeros(value) : value;
  };
}

function withoutTrailingZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

/** @throws QueryError on properties or options that are none. */
export function checkGrouping(properties: readonly unknown[], options: GroupOptions): number {
  if (properties.length === 0)
    throw new QueryError('groupBy names no property. Use aggregate() for all rows.');
  for (const [i, property] of properties.entries()) {
    if (properties.indexOf(property) !== i) {
      throw new QueryError(`groupBy names ${describe(property)} twice.`);
    }
  }
  checkNames('groupBy', options, ['maxGroups']);
  const { maxGroups = DEFAULT_MAX_GROUPS } = options;
  if (!Number.isSafeInteger(maxGroups) || maxGroups < 1) {
    throw new QueryError(`groupBy: maxGroups is a whole number from 1 on, not ${describe(maxGroups)}.`);
  }
  return maxGroups;
}
