import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { filters, type Get } from '../table/index.js';
import type { Expectation } from './change.js';
import { mutableCopy } from './entity-input.js';
import type { RowImage } from './row-image.js';

type Entity = Record<string, unknown>;

/** Whether soft-deleted entities count as existing, as the `withDeleted` of reads says. */
export type Existence = 'live' | 'withDeleted';

/**
 * The row marker: a cell that records that a row exists. With the column of `@DeletedAt` it tells whether the entity
 * is soft-deleted.
 */
export class RowMarker {
  /** The column of `@DeletedAt`. */
  readonly deletedAt: ColumnSchema | undefined;
  /** That an entity exists, soft-deleted or not. */
  readonly exists: Expectation;
  private readonly live: readonly Expectation[];

  constructor(private readonly schema: EntitySchema) {
    const { marker, columns, deletedProperty } = schema;
    this.deletedAt = columns.find(({ property }) => property === deletedProperty);
    this.exists =
      marker === undefined
        ? { kind: 'filter', filter: filters.firstKeyOnly() }
        : { kind: 'present', family: marker.family, qualifier: marker.qualifier };
    this.live = this.deletedAt === undefined ? [] : [{ ...this.deletedAt, kind: 'absent' }];
  }

  /** Expectations that the entity exists. The first is on the marker. */
  expect(existence: Existence): Expectation[] {
    return existence === 'live' ? [this.exists, ...this.live] : [this.exists];
  }

  /** Adds the columns that `isIn` needs to a get; `marked`: the marker is in it already. */
  addTo(get: Get, marked: boolean): void {
    const { deletedAt } = this;
    const { marker, families } = this.schema;
    if (deletedAt !== undefined && get.families.get(deletedAt.family) !== null)
      get.addColumn(deletedAt.family, deletedAt.qualifier);
    if (marker === undefined) for (const family of families) get.addFamily(family);
    else if (!marked) get.addColumn(marker.family, marker.qualifier);
  }

  /** Whether the row that was read is an existing entity. */
  isIn(image: RowImage, existence: Existence): boolean {
    const { marker } = this.schema;
    if (marker === undefined) return !image.isEmpty;
    if (image.value(marker.family, marker.qualifier) === undefined) return false;
    const { deletedAt } = this;
    if (existence === 'withDeleted' || deletedAt === undefined) return true;
    return image.value(deletedAt.family, deletedAt.qualifier) === undefined;
  }

  /** Whether one of these columns decides that an entity is soft-deleted. */
  dependsOn(columns: readonly ColumnSchema[]): boolean {
    return this.deletedAt !== undefined && columns.includes(this.deletedAt);
  }

  /** The entity as not deleted, unless it sets the time of deletion itself. */
  revived(entity: Entity): Entity {
    const property = this.deletedAt?.property;
    if (property === undefined || entity[property] !== undefined) return entity;
    return Object.assign(mutableCopy(entity), { [property]: null });
  }
}
