import { compareBytes, equalBytes } from '../../bytes/index.js';
import {
  type ChangeImage,
  type ChangeStep,
  columnMutations,
  type Effect,
  type MaintainerContext,
  type OwnColumn,
  type RowMaintainer,
  refuseAhead,
  refuseUnfollowed,
} from '../../repository/maintainer.js';
import { RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import { OwnCells } from '../../schema/own-cells.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import { Delete, Get, type RowMutation } from '../../table/index.js';

/**
 * Mutual links: of each row there is a mirror, whose key has two parts exchanged and whose columns are equal
 * (docs/relations.md). Where a step may write several rows, whichever is written, the other follows in its step.
 *
 * On engines whose atomic step is one row, the *first* row of a pair is the one whose key sorts first. Repositories
 * write it in place of the second, which follows it. A writer compares both again after its write, so the last writer
 * is also the last reader, and both end up equal.
 */

/** How often the second row is corrected while the first keeps changing. After that the outbox takes over. */
const ROUNDS = 16;

/** The rows of a mutual entity. Used by writes, checks and repairs. */
export class MirrorPlan {
  private readonly own: OwnCells;
  private readonly rowMarker: RowMarker;
  /** Columns that hold copies: each row takes its own. */
  private readonly copied: readonly ColumnSchema[];

  constructor(readonly schema: EntitySchema) {
    this.own = new OwnCells(schema);
    this.rowMarker = new RowMarker(schema);
    this.copied = schema.copies.flatMap(({ fields, map }) =>
      map === undefined ? fields.map(({ column }) => column) : [],
    );
  }

  /** The row of the other side. A row of one thing with itself is its own mirror. */
  mirrorOf(row: Uint8Array): Uint8Array {
    const { key, mapper } = this.schema;
    const [one, other] = this.schema.mutual!;
    const parts = key.decode(row);
    return mapper.rowOf({ ...parts, [one]: parts[other], [other]: parts[one] });
  }

  /** The row of the pair whose key sorts first. */
  firstOf(row: Uint8Array): Uint8Array {
    const mirror = this.mirrorOf(row);
    return compareBytes(mirror, row) < 0 ? mirror : row;
  }

  has(row: RowImage): boolean {
    return this.rowMarker.isIn(row, 'withDeleted');
  }

  /** Whether a change of these columns changes the mirror. */
  mirrorsAny(columns: readonly ColumnSchema[]): boolean {
    return columns.some((column) => !this.copied.includes(column));
  }

  read(step: ChangeStep, row: Uint8Array): RowImage {
    return RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
  }

  /** The mutations that make a row equal to its mirror. Empty: it is. */
  difference(row: RowImage, mirror: RowImage): readonly RowMutation[] {
    if (!this.has(mirror)) return this.has(row) ? [new Delete(row.row)] : NOTHING;
    const columns: OwnColumn[] = [];
    for (const { family, qualifier, value } of mirror.all()) {
      if (!this.isMirrored(family, qualifier)) continue;
      const is = row.value(family, qualifier);
      if (is === undefined || !equalBytes(is, value)) columns.push({ family, qualifier, value });
    }
    for (const { family, qualifier } of row.all()) {
      if (this.isMirrored(family, qualifier) && mirror.value(family, qualifier) === undefined)
        columns.push({ family, qualifier, value: undefined });
    }
    return columnMutations(row.row, columns, undefined);
  }

  private isMirrored(family: string, qualifier: Uint8Array): boolean {
    const { marker } = this.schema;
    if (family === marker!.family && equalBytes(qualifier, marker!.qualifier)) return true;
    return (
      this.own.hasValue(family, qualifier) &&
      !this.copied.some((one) => one.family === family && equalBytes(one.qualifier, qualifier))
    );
  }
}

/** Changes the mirror of a changed row. */
export class MirrorMaintainer implements RowMaintainer {
  readonly name = 'mutual';

  constructor(
    private readonly plan: MirrorPlan,
    private readonly context: MaintainerContext,
  ) {}

  effects(change: ChangeImage): readonly Effect[] {
    const { after } = change;
    const { plan } = this;
    const mirror = this.mirrorIfChanged(change);
    if (mirror === undefined) return NOTHING;
    return [
      {
        entity: plan.schema,
        operation: plan.has(after) ? 'put' : 'delete',
        row: mirror,
        resolve: (before) => plan.difference(before, after),
      },
    ];
  }

  isAffectedBy(columns: readonly ColumnSchema[]): boolean {
    return this.plan.mirrorsAny(columns);
  }

  hasEffects(change: ChangeImage, step: ChangeStep): boolean {
    const mirror = this.mirrorIfChanged(change);
    if (mirror === undefined) return false;
    if (compareBytes(change.row, mirror) < 0) return true;
    // The second row mostly changes because it follows the first.
    return this.plan.difference(change.after, this.plan.read(step, mirror)).length > 0;
  }

  async settle(row: Uint8Array): Promise<boolean> {
    const { plan, context } = this;
    const first = plan.firstOf(row);
    const second = plan.mirrorOf(first);
    if (equalBytes(first, second)) return true;
    for (let round = 0; round < ROUNDS; round++) {
      const { source, isEqual } = await context.reading((step) => {
        const source = plan.read(step, first);
        return { source, isEqual: plan.difference(plan.read(step, second), source).length === 0 };
      });
      if (isEqual) return true;
      await context.applyChanges([
        {
          entity: plan.schema,
          operation: plan.has(source) ? 'put' : 'delete',
          row: second,
          resolve: (before) => plan.difference(before, source),
        },
      ]);
    }
    return false;
  }

  fence(row: Uint8Array): Promise<boolean> {
    return this.context.fence(this.plan.schema, [row, this.plan.mirrorOf(row)]);
  }

  /** The mirror of a row whose change concerns it. @throws UnsupportedError on changes that it cannot follow. */
  private mirrorIfChanged({ row, before, after, mutations }: ChangeImage): Uint8Array | undefined {
    const { plan, context } = this;
    refuseUnfollowed(plan.schema, 'mutual links', mutations, context.now);
    refuseAhead(plan.schema, 'mutual links', mutations, context.now);
    if (plan.difference(before, after).length === 0) return undefined;
    const mirror = plan.mirrorOf(row);
    return equalBytes(mirror, row) ? undefined : mirror;
  }
}

const NOTHING: readonly never[] = Object.freeze([]);
