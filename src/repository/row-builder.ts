/** Builds one atomic change of one row. */

import { InvalidArgumentError, QueryError } from '../errors.js';
import { storedCodec } from '../key/codecs/index.js';
import { selectColumns } from '../query/projection.js';
import { qualifierOf } from '../query/slice.js';
import type { ColumnsOf, KeyedClass, Patch } from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isCallable, isInstance, isRecord } from '../table/checks.js';
import { Append, Delete, Increment, Put, type RowMutation } from '../table/index.js';
import type { Amounts, Suffixes } from './options.js';

/** The codecs whose values can be appended to as bytes. */
const APPENDABLE: ReadonlySet<string> = new Set(['text', 'bytes']);

/** Collects changes that take effect together. Each column may be changed once. */
export class RowBuilder<C extends KeyedClass> {
  private readonly mutations: RowMutation[] = [];
  private readonly changed = new Set<ColumnSchema>();
  private readonly patches: Readonly<Record<string, unknown>>[] = [];

  constructor(
    private readonly schema: EntitySchema,
    private readonly row: Uint8Array,
    private readonly timestamp: number | undefined,
    /**
     * The key, where the change may create the entity: key parts that the row key cannot give back are stored in
     * their columns.
     */
    private readonly key?: Readonly<Record<string, unknown>>,
  ) {}

  /** Sets columns. Null deletes one, undefined leaves it unchanged. */
  set(patch: Patch<C>): this {
    const given = byColumn<unknown>('set', patch);
    const names = Object.keys(given).filter((name) => given[name] !== undefined);
    if (names.length === 0) return this;
    this.refuseKeyParts(names);
    const columns = selectColumns(this.schema, names, 'set');
    this.claim(columns);
    for (const name of names) if (given[name] === null) this.refuseRequired(columns, name);
    this.mutations.push(...this.schema.mapper.toMutations(given, this.row, this.timestamp));
    if (this.schema.lifecycle.check !== undefined) this.patches.push({ ...given });
    return this;
  }

  /** Deletes every version of these columns. */
  unset(...names: readonly ColumnsOf<C>[]): this {
    this.refuseKeyParts(names);
    const columns = selectColumns(this.schema, names, 'unset');
    this.claim(columns);
    const del = new Delete(this.row, this.timestamp);
    for (const column of columns) {
      if (column.kind === 'columns') {
        throw new QueryError(
          `unset: ${this.schema.name}.${column.property} holds columns whose names are not known here. Set its entries to null one by one.`,
          { details: { entity: this.schema.name, property: column.property } },
        );
      }
      this.refuseRequired(columns, column.property);
      del.addColumns(column.family, column.qualifier);
    }
    if (columns.length > 0) this.mutations.push(del);
    return this;
  }

  /** Adds to counters, and to entries of Maps of counters. An absent one counts as 0. */
  increment(amounts: Amounts<C>): this {
    const increment = new Increment(this.row);
    for (const [name, amount] of Object.entries(byColumn<unknown>('increment', amounts))) {
      const column = this.column('increment', name, amount);
      for (const [qualifier, added] of amountsOf(this.schema, column, amount)) {
        increment.addColumn(column.family, qualifier, added);
      }
    }
    if (increment.columns.length > 0) this.mutations.push(increment);
    return this;
  }

  /** Appends to strings or bytes. An absent value counts as empty. */
  append(suffixes: Suffixes<C>): this {
    const append = new Append(this.row);
    for (const [name, suffix] of Object.entries(byColumn<unknown>('append', suffixes))) {
      const column = this.column('append', name, suffix);
      if (column.kind !== 'column' || !APPENDABLE.has(column.codec.name)) {
        throw new QueryError(
          `append: ${this.schema.name}.${name} is ${column.codec.name}; only text and bytes can be appended to.`,
          { details: { entity: this.schema.name, property: name } },
        );
      }
      append.addColumn(column.family, column.qualifier, storedCodec(column.codec).encode(suffix));
    }
    if (append.columns.length > 0) this.mutations.push(append);
    return this;
  }

  /** Runs the checks of the changed properties. @throws InvalidArgumentError with every issue. */
  async check(): Promise<void> {
    for (const patch of this.patches) await this.schema.lifecycle.check?.(patch);
  }

  /**
   * The mutations. A change that adds cells also writes the marker, and the key parts that the row key cannot give
   * back. `empty`: return a change even if it sets only hidden columns (a version, a TTL).
   */
  build(empty = false): RowMutation[] {
    if (this.mutations.length === 0 && !empty) {
      throw new QueryError(
        `${this.schema.name}: the change is empty. Set, unset, increment or append something.`,
        {
          details: { entity: this.schema.name },
        },
      );
    }
    const adds = this.mutations.length === 0 || this.mutations.some(({ kind }) => kind !== 'delete');
    if (!adds) return this.mutations;
    const { marker } = this.schema;
    const present = this.mutations.find((mutation) => mutation.kind === 'put');
    const put = present ?? new Put(this.row, this.timestamp);
    if (present === undefined && marker !== undefined) {
      put.addColumn(marker.family, marker.qualifier, marker.value);
    }
    this.addKeyColumns(put);
    return present !== undefined || put.cells.length === 0 ? this.mutations : [put, ...this.mutations];
  }

  private addKeyColumns(put: Put): void {
    const { key } = this;
    if (key === undefined) return;
    for (const { name, recoverable } of this.schema.key.parts) {
      const column = recoverable ? undefined : this.schema.columnsByProperty.get(name);
      if (column !== undefined) {
        put.addColumn(column.family, column.qualifier, column.codec.encode(key[name]));
      }
    }
  }

  private column(doing: string, name: string, value: unknown): ColumnSchema {
    const column = this.schema.columnsByProperty.get(name);
    if (column === undefined || value === undefined || value === null) {
      throw new QueryError(
        column === undefined
          ? `${doing}: ${this.schema.name} has no column "${name}". It has ${[...this.schema.columnsByProperty.keys()].join(', ')}.`
          : `${doing}: ${this.schema.name}.${name} is ${String(value)}. Give a value, or leave it out.`,
        { details: { entity: this.schema.name, property: name } },
      );
    }
    this.refuseChecked(doing, name);
    this.claim([column]);
    return column;
  }

  /** The new value is known only after the write. */
  private refuseChecked(doing: string, name: string): void {
    const { lifecycle, name: entity } = this.schema;
    if (!lifecycle.checked.has(name)) return;
    throw new InvalidArgumentError(
      `${doing}: ${entity}.${name} has a check (@Validate), and its new value is not known before the write. Read it and update it, within db.transaction or check(...).`,
      { details: { entity, property: name } },
    );
  }

  private refuseRequired(columns: readonly ColumnSchema[], name: string): void {
    if (!columns.some(({ property, required }) => property === name && required)) return;
    throw new InvalidArgumentError(
      `${this.schema.name}.${name} is required and cannot be deleted. Give it another value, or declare it optional.`,
      { details: { entity: this.schema.name, property: name } },
    );
  }

  private refuseKeyParts(names: readonly string[]): void {
    for (const name of names) {
      if (!this.schema.key.parts.some((part) => part.name === name)) continue;
      throw new QueryError(
        `${this.schema.name}.${name} is part of the key and cannot be changed: put a new entity and delete the old one.`,
        { details: { entity: this.schema.name, property: name } },
      );
    }
  }

  /** The order of two changes of one column would be lost: both get the same timestamp. */
  private claim(columns: readonly ColumnSchema[]): void {
    for (const column of columns) {
      if (this.changed.has(column)) {
        throw new QueryError(
          `${this.schema.name}.${column.property} is changed twice in one mutation. Change it once.`,
          { details: { entity: this.schema.name, property: column.property } },
        );
      }
      this.changed.add(column);
    }
  }
}

/**
 * The mutations that `change` makes, after the checks. @throws InvalidArgumentError when it is no function or returns
 * something else; on a failed check.
 */
export async function changed<C extends KeyedClass>(
  change: (row: RowBuilder<C>) => RowBuilder<C>,
  row: RowBuilder<C>,
): Promise<RowMutation[]> {
  const after: unknown = isCallable(change) ? change(row) : change;
  if (isRecord(after) && after instanceof RowBuilder) {
    const mutations = after.build();
    await after.check();
    return mutations;
  }
  throw new InvalidArgumentError(
    `A change of a row is a function that answers the row, (row) => row.set({ … }), not ${describe(after)}.`,
  );
}

/** The amounts by cell. @throws QueryError on a property that is no counter and no Map of counters. */
function amountsOf(
  { name }: EntitySchema,
  column: ColumnSchema,
  amount: unknown,
): readonly (readonly [Uint8Array, bigint | number])[] {
  const { kind, property, codec, qualifier, window } = column;
  if (kind === 'counter') return [[qualifier, amount as bigint | number]];
  const details = { entity: name, property };
  if (kind !== 'columns' || window !== undefined || codec.name !== 'counter') {
    const how = `Declare it with @Counter (in defineEntity c.counter), or as a Map with @Columns and the value codec counter.`;
    throw new QueryError(
      kind === 'column' && codec.name === 'counter'
        ? `increment: ${name}.${property} has the bytes of a counter, but is declared as a column that puts set. ${how}`
        : `increment: ${name}.${property} is no counter but ${codec.name}. ${how}`,
      { details },
    );
  }
  if (!isInstance(amount, Map)) {
    throw new QueryError(
      `increment: ${name}.${property} is a Map of counters. Give amounts by key, new Map([[key, 1n]]), not ${describe(amount)}.`,
      { details },
    );
  }
  return [...(amount as ReadonlyMap<unknown, bigint | number>)].map(
    ([key, added]) => [qualifierOf(column, key), added] as const,
  );
}

/** Checks an argument by column. @throws InvalidArgumentError when it is no object. */
function byColumn<T>(doing: string, given: unknown): Readonly<Record<string, T>> {
  if (isRecord(given)) return given as Readonly<Record<string, T>>;
  throw new InvalidArgumentError(`${doing} takes an object of columns, not ${describe(given)}.`);
}
