import { equalBytes } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { Expiry } from '../../repository/expiry.js';
import {
  type ChangeImage,
  type Effect,
  type OwnColumn,
  type RowMaintainer,
  refuseUnfollowed,
  writtenColumn,
} from '../../repository/maintainer.js';
import type { RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import type { ComputedSchema, EntitySchema } from '../../schema/types.js';
import { LATEST_TIMESTAMP } from '../../table/index.js';
import type { Feature, FeatureContext } from '../feature.js';

/** Computed columns (docs/column-kinds.md): every write of a row sets them, from the whole row as it will be. */
export class ComputedFeature implements Feature {
  constructor(private readonly context: FeatureContext) {}

  maintainers(entity: EntitySchema): RowMaintainer[] {
    return entity.computed.length === 0 ? [] : [new ComputedColumns(entity, () => this.context.now())];
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Sets the computed columns of a changed row. They are in the row itself, so there is nothing to follow up. */
class ComputedColumns implements RowMaintainer {
  readonly name = 'computed';
  private readonly marker: RowMarker;
  private readonly expiry: Expiry | undefined;

  constructor(
    private readonly schema: EntitySchema,
    private readonly now: () => number,
  ) {
    this.marker = new RowMarker(schema);
    this.expiry = Expiry.of(schema, now);
  }

  amend(change: ChangeImage): readonly OwnColumn[] {
    const { schema, now } = this;
    const { after } = change;
    refuseUnfollowed(schema, 'computed columns (@Computed)', change.mutations, now);
    if (!this.marker.isIn(after, 'withDeleted')) return this.left(after);
    const entity = schema.mapper.fromResult(after.toResult()) as Record<string, unknown> | null;
    if (entity === null) return NOTHING;
    // A function sees the columns that programs set.
    for (const { column } of schema.computed) delete entity[column.property];
    const out: OwnColumn[] = [];
    for (const computed of schema.computed) {
      const { family, qualifier } = computed.column;
      const value = this.bytesOf(computed, entity);
      const stored = after.value(family, qualifier);
      if (value === undefined ? stored === undefined : stored !== undefined && equalBytes(value, stored))
        continue;
      this.refuse(computed, change);
      out.push({ family, qualifier, value, ttl: this.expiry?.remaining(after) });
    }
    return out;
  }

  /** Columns left in a deleted row: a computed cell may be newer than the delete, which has the timestamp of its caller. */
  private left(after: RowImage): readonly OwnColumn[] {
    const left = this.schema.computed.filter(
      ({ column: { family, qualifier } }) => after.value(family, qualifier) !== undefined,
    );
    return left.map(({ column: { family, qualifier } }) => ({ family, qualifier, value: undefined }));
  }

  /** Undefined: the column is absent. @throws InvalidArgumentError naming the property. */
  private bytesOf({ column, compute }: ComputedSchema, entity: object): Uint8Array | undefined {
    try {
      const value = compute(entity as never);
      return value === undefined || value === null ? undefined : column.codec.encode(value);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidArgumentError(
        `${this.schema.name}.${column.property} cannot be computed, so nothing was written: ${why} Its function must take every entity.`,
        { cause, details: { entity: this.schema.name, property: column.property } },
      );
    }
  }

  /** Refuses another value that the application sets. A put says what it has read, and its value is ignored. */
  private refuse({ column }: ComputedSchema, { operation, before, mutations }: ChangeImage): void {
    const written = writtenColumn(mutations, column);
    if (written === undefined) return;
    const { time, value } = written;
    const was = before.value(column.family, column.qualifier);
    const isAnew = was !== undefined && value !== undefined && equalBytes(was, value);
    const isSet = (operation === 'update' || operation === 'mutate') && !isAnew;
    if (!isSet && (time === LATEST_TIMESTAMP || time <= this.now())) return;
    throw new InvalidArgumentError(
      `${this.schema.name}.${column.property} is computed and cannot be set${isSet ? '' : ' for a time to come'}. Change what it is computed from.`,
      { details: { entity: this.schema.name, property: column.property } },
    );
  }

  effects(): readonly Effect[] {
    return NOTHING;
  }

  hasEffects(): boolean {
    return false;
  }

  settle(): Promise<boolean> {
    return Promise.resolve(true);
  }
}
