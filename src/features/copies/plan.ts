import { equalBytes } from '../../bytes/index.js';
import { columnMutations } from '../../repository/embedded-executor.js';
import { Expiry } from '../../repository/expiry.js';
import type { ChangeStep, EntityChange, OwnColumn } from '../../repository/maintainer.js';
import { RowImage } from '../../repository/row-image.js';
import type { ColumnSchema, CopySchema, EntitySchema } from '../../schema/types.js';
import { Get } from '../../table/index.js';
import { Link } from '../relations/link.js';

/**
 * Plans one declaration of copies: computes the values that the copies of a row should have. Used by writes, the
 * outbox, checks and repairs.
 */

/** The cells that are copied from a source, in the order of the declared fields; undefined for absent ones. */
export type CopiedValues = readonly (Uint8Array | undefined)[];

/** How the copies of a row differ from their source. */
type CopyFault = 'stale' | 'missing' | 'extra';

export class CopyPlan {
  readonly link: Link;
  /** Identifies the declaration among those of the entity. It depends on the source and the linking properties only. */
  readonly name: string;
  readonly fanOut: number;
  /** The columns that hold the copies. */
  readonly columns: readonly ColumnSchema[];
  private readonly fields: readonly { readonly own: ColumnSchema; readonly from: ColumnSchema }[];
  private readonly expiry: Expiry | undefined;
  /**
   * The columns, if a change of them needs no further amendment: no other source is found by a copied value, and the
   * row has a marker.
   */
  private readonly settled: readonly ColumnSchema[] | undefined;

  constructor(
    readonly entity: EntitySchema,
    readonly copy: CopySchema,
    readonly source: EntitySchema,
    now: () => number,
  ) {
    this.link = new Link(entity, copy, source);
    this.name = `${source.name} ${copy.via.map(([, property]) => property).join(' ')}`;
    this.fanOut = copy.fanOut;
    this.fields = copy.fields.map(({ column, source: from }) => ({
      own: column,
      from: source.columnsByProperty.get(from)!,
    }));
    this.columns = this.fields.map((field) => field.own);
    this.expiry = Expiry.of(entity, now);
    const own = new Set(copy.fields.map(({ column }) => column.property));
    const namesOthers = entity.copies.some(({ via }) => via.some(([, held]) => own.has(held)));
    this.settled = namesOthers || entity.marker === undefined ? undefined : this.columns;
  }

  /** Whether a change of these columns of an existing source may change its copies. */
  copiesAny(columns: readonly ColumnSchema[]): boolean {
    return this.fields.some(({ from }) => columns.includes(from)) || this.link.named.dependsOn(columns);
  }

  /** The values that are copied from a source. */
  valuesOf(source: RowImage | undefined): CopiedValues {
    if (source === undefined || !this.link.named.isIn(source, 'living'))
      return this.fields.map(() => undefined);
    return this.fields.map(({ from }) => source.value(from.family, from.qualifier));
  }

  /** Reads the source at a row key. */
  read(step: ChangeStep, target: Uint8Array): RowImage {
    const get = new Get(target);
    for (const { from } of this.fields) get.addColumn(from.family, from.qualifier);
    this.link.named.addTo(get, false);
    return RowImage.of(target, step.read(get, this.source.table.descriptor.name));
  }

  /** The columns of a row that differ from the expected values. */
  differences(row: RowImage, values: CopiedValues): OwnColumn[] {
    const out: OwnColumn[] = [];
    for (let i = 0; i < values.length; i++) {
      const { family, qualifier } = this.fields[i]!.own;
      const is = row.value(family, qualifier);
      const value = values[i];
      if (is === value || (is !== undefined && value !== undefined && equalBytes(is, value))) continue;
      out.push({ family, qualifier, value });
    }
    return out;
  }

  /** The TTL of a copy written to the row, ms. Undefined: without end. */
  lifeOf(row: RowImage): number | undefined {
    return this.expiry?.remaining(row);
  }

  /**
   * Sets a row's copies to these values if it still names the source; with `target` undefined, if it still names
   * none.
   */
  change(row: Uint8Array, target: Uint8Array | undefined, values: CopiedValues): EntityChange {
    return target === undefined
      ? this.changeIf((image) => this.link.targetOf(image.toResult()) === undefined, row, values)
      : this.changeIf((image) => this.link.names(image, target), row, values);
  }

  /** Sets the copies of each of these rows if the row still names the source. */
  changes(rows: readonly Uint8Array[], target: Uint8Array, values: CopiedValues): EntityChange[] {
    const names = this.link.naming(target);
    return rows.map((row) => this.changeIf(names, row, values));
  }

  private changeIf(holds: (image: RowImage) => boolean, row: Uint8Array, values: CopiedValues): EntityChange {
    return {
      entity: this.entity,
      operation: 'mutate',
      row,
      finalColumns: this.settled,
      resolve: (before) => {
        if (!this.link.own.isIn(before, 'deleted too') || !holds(before)) return [];
        return columnMutations(row, this.differences(before, values), this.lifeOf(before));
      },
    };
  }

  /** The change that corrects the copies of a row, and how they differed. */
  repair(
    row: RowImage,
    step: ChangeStep,
  ): { readonly fault: CopyFault | undefined; readonly change: EntityChange } {
    const target = this.link.targetOf(row.toResult());
    const source = target && this.read(step, target);
    const values = this.valuesOf(source);
    const off = this.differences(row, values);
    const change: EntityChange = {
      entity: this.entity,
      operation: 'mutate',
      row: row.row,
      resolve: (before) => columnMutations(row.row, off, this.lifeOf(before)),
    };
    if (off.length === 0) return { fault: undefined, change };
    if (source === undefined || !this.link.named.isIn(source, 'living')) return { fault: 'extra', change };
    const has = this.fields.some(({ own }) => row.value(own.family, own.qualifier) !== undefined);
    return { fault: has ? 'stale' : 'missing', change };
  }
}

export function areEqual(a: CopiedValues, b: CopiedValues): boolean {
  return a.every((value, i) => {
    const other = b[i];
    return value === other || (value !== undefined && other !== undefined && equalBytes(value, other));
  });
}
