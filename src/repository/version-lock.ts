/** Optimistic locking: a property that each write counts up, and that a write must know. */

import { ConflictError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { CheckAndMutate, Get, type RowMutation } from '../table/index.js';
import { asAction, keyText, type RepositoryContext } from './row-access.js';

/** The `@Version` column of one entity. */
export class VersionLock {
  private constructor(
    private readonly schema: EntitySchema,
    readonly column: ColumnSchema,
  ) {}

  /** Undefined when the entity has no `@Version`. */
  static of(schema: EntitySchema): VersionLock | undefined {
    const property = schema.versionProperty;
    const column = property === undefined ? undefined : schema.columnsByProperty.get(property);
    return column === undefined ? undefined : new VersionLock(schema, column);
  }

  get property(): string {
    return this.column.property;
  }

  /** The version after this one; of a new entity 1, in the codec's type. */
  next(version: unknown): unknown {
    if (typeof version === 'bigint') return version + 1n;
    if (typeof version === 'number') return version + 1;
    try {
      this.column.codec.encode(1);
      return 1;
    } catch {
      // The codec takes no number: the property is a bigint.
      return 1n;
    }
  }

  /**
   * The mutations of an entity with its version counted up. The entity itself is left as it was; `commit` counts it up
   * when the write has taken effect.
   */
  mutationsOf(
    entity: Record<string, unknown>,
    row: Uint8Array,
    timestamp: number | undefined,
  ): RowMutation[] {
    const before = entity[this.property];
    entity[this.property] = this.next(before);
    try {
      return this.schema.mapper.toMutations(entity, row, timestamp);
    } finally {
      entity[this.property] = before;
    }
  }

  commit(entity: Record<string, unknown>): void {
    entity[this.property] = this.next(entity[this.property]);
  }

  /** Takes effect only while the stored version is `version`; undefined or null: while there is none. */
  check(row: Uint8Array, version: unknown, mutations: readonly RowMutation[]): CheckAndMutate {
    const { family, qualifier, codec } = this.column;
    const action = asAction(row, mutations);
    return version === undefined || version === null
      ? CheckAndMutate.ifNotExists(family, qualifier, action)
      : CheckAndMutate.ifEquals(family, qualifier, codec.encode(version), action);
  }

  /** The stored version, or undefined when the row has none. */
  async read(context: RepositoryContext, row: Uint8Array): Promise<unknown> {
    const { family, qualifier, codec } = this.column;
    const result = await context.access.table.get(new Get(row).addColumn(family, qualifier));
    const stored = result.getValue(family, qualifier);
    return stored === undefined ? undefined : codec.decode(stored);
  }

  conflict(entity: Readonly<Record<string, unknown>>): ConflictError {
    const version = entity[this.property];
    const expected =
      version === undefined || version === null
        ? 'it was to be new, but a version is stored'
        : `its version was ${String(version)} when it was read, and another write has changed it since`;
    return new ConflictError(
      `${this.schema.name} ${keyText(this.schema, entity)} was not written: ${expected}. Read it again and repeat the change.`,
      { details: { entity: this.schema.name, property: this.property } },
    );
  }
}
