/** The row marker: records that a row holds an entity, and whether it is deleted and left (`@DeletedAt`). */

import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { filters, type Get } from '../table/index.js';
import type { Expectation } from './change.js';
import { thawed } from './input-copy.js';
import type { RowImage } from './row-image.js';

type Entity = Record<string, unknown>;

/** Whether only an entity that was not deleted counts as being there. */
export type Counted = 'living' | 'deleted too';

export class RowMarker {
  /** The time of a deletion that leaves the row. */
  readonly deletedAt: ColumnSchema | undefined;
  private readonly exists: Expectation;
  private readonly living: readonly Expectation[];

  constructor(private readonly schema: EntitySchema) {
    const { marker, columns, deletedProperty } = schema;
    this.deletedAt = columns.find(({ property }) => property === deletedProperty);
    this.exists =
      marker === undefined
        ? { kind: 'filter', filter: filters.firstKeyOnly() }
        : { kind: 'present', family: marker.family, qualifier: marker.qualifier };
    this.living = this.deletedAt === undefined ? [] : [{ ...this.deletedAt, kind: 'absent' }];
  }

  /** That there is an entity. The first says that the row is one's. */
  expect(counted: Counted): Expectation[] {
    return counted === 'living' ? [this.exists, ...this.living] : [this.exists];
  }

  /** Has what `isIn` looks at read too; `marked`: the marker is read already. */
  addTo(get: Get, marked: boolean): void {
    const { deletedAt } = this;
    const { marker, families } = this.schema;
    if (deletedAt !== undefined && get.families.get(deletedAt.family) !== null)
      get.addColumn(deletedAt.family, deletedAt.qualifier);
    if (marker === undefined) for (const family of families) get.addFamily(family);
    else if (!marked) get.addColumn(marker.family, marker.qualifier);
  }

  /** Whether what was read is an entity. */
  isIn(image: RowImage, counted: Counted): boolean {
    const { marker } = this.schema;
    if (marker === undefined) return !image.isEmpty;
    if (image.value(marker.family, marker.qualifier) === undefined) return false;
    const { deletedAt } = this;
    if (counted === 'deleted too' || deletedAt === undefined) return true;
    return image.value(deletedAt.family, deletedAt.qualifier) === undefined;
  }

  /** Whether one of these columns says that a row's entity was deleted. */
  isToldBy(columns: readonly ColumnSchema[]): boolean {
    return this.deletedAt !== undefined && columns.includes(this.deletedAt);
  }

  /** The entity as one that is not deleted, unless it says when it was. */
  revived(entity: Entity): Entity {
    const property = this.deletedAt?.property;
    if (property === undefined || entity[property] !== undefined) return entity;
    return Object.assign(thawed(entity), { [property]: null });
  }
}
