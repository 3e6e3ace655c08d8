import { ConflictError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { type Get, LATEST_TIMESTAMP, Put, type RowMutation } from '../table/index.js';
import type { Expectation } from './change.js';
import { keyText, keyValues } from './row-access.js';
import type { RowImage } from './row-image.js';

/**
 * Optimistic locking: a version property that each write increments and must know. The `@Version` column of one entity.
 */
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

  /** The version after this one, in the codec's type. 1 for a new entity. */
  next(version: unknown): unknown {
    if (typeof version === 'bigint') return version + 1n;
    if (typeof version === 'number') return version + 1;
    try {
      this.column.codec.encode(1);
      return 1;
    } catch {
      // The codec takes no number, so the property is a bigint.
      return 1n;
    }
  }

  /**
   * The mutations of an entity with the next version. The entity itself is unchanged; `commit` increments its
   * property after the write.
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

  /** The expectation that the stored version is `version`; undefined or null: that none is stored. */
  expect(version: unknown): Expectation {
    const { family, qualifier, codec } = this.column;
    return version === undefined || version === null
      ? { kind: 'absent', family, qualifier }
      : { kind: 'equal', family, qualifier, value: codec.encode(version) };
  }

  /** Adds the version to a get. */
  addTo(get: Get): void {
    if (get.families.get(this.column.family) !== null)
      get.addColumn(this.column.family, this.column.qualifier);
  }

  stored(image: RowImage): unknown {
    const value = image.value(this.column.family, this.column.qualifier);
    return value === undefined ? undefined : this.column.codec.decode(value);
  }

  /** The mutations, with an increment of the version. */
  counted(mutations: readonly RowMutation[], stored: unknown): RowMutation[] {
    const { family, qualifier, codec } = this.column;
    const value = codec.encode(this.next(stored));
    const put = mutations.find((mutation) => mutation.kind === 'put');
    const counted = new Put(mutations[0]!.row, put?.timestamp ?? LATEST_TIMESTAMP);
    counted.setTtl(put?.ttl).setDurability(mutations[0]!.durability);
    if (put !== undefined) counted.cells.push(...put.cells);
    else if (this.schema.marker !== undefined) {
      const { marker } = this.schema;
      counted.addColumn(marker.family, marker.qualifier, marker.value);
    }
    counted.addColumn(family, qualifier, value);
    return [counted, ...mutations.filter((mutation) => mutation !== put)];
  }

  conflict(entity: Readonly<Record<string, unknown>>, version: unknown): ConflictError {
    const expected =
      version === undefined || version === null
        ? 'it was to be new, but a version is stored'
        : `its version was ${String(version)} when it was read, and another write has changed it since`;
    return new ConflictError(
      `${this.schema.name} ${keyText(this.schema, entity)} was not written: ${expected}. Read it again and repeat the change.`,
      {
        details: {
          entity: this.schema.name,
          property: this.property,
          key: keyValues(this.schema, entity),
        },
      },
    );
  }
}
