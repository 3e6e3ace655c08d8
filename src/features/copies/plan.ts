import { equalBytes, startsWithBytes } from '../../bytes/index.js';
import { Expiry } from '../../repository/expiry.js';
import {
  type ChangeStep,
  columnMutations,
  type EntityChange,
  type OwnColumn,
} from '../../repository/maintainer.js';
import { differ, RowImage } from '../../repository/row-image.js';
import type { ColumnSchema, CopySchema, EntitySchema } from '../../schema/types.js';
import { Get } from '../../table/index.js';
import { Link, type NamingEntry } from '../relations/link.js';

/** The cells that are copied from a source, in the order of the declared fields; undefined for absent ones. */
export type CopiedValues = readonly (Uint8Array | undefined)[];

/** How the copies of a row differ from their sources. */
type CopyFault = 'stale' | 'missing' | 'extra';

/** Reads the source at a row key. */
export type SourceReader = (target: Uint8Array) => RowImage;

/** The place of a copy in a row. */
type CopyPlace = Pick<OwnColumn, 'family' | 'qualifier'>;

/** The copies of a row that differ from their sources, and how. */
interface Differences {
  readonly fault: CopyFault | undefined;
  readonly columns: readonly OwnColumn[];
}

/**
 * Plans one declaration of copies: computes the values that the copies of a row should have. Used by writes, the
 * outbox, checks and repairs. The copies are columns of a row that names one source, or the values of a Map whose keys
 * each name a source.
 */
export abstract class CopyPlan {
  readonly link: Link;
  /** Identifies the link among those of the entity. It depends on the source and the linking properties only. */
  readonly name: string;
  readonly fanOut: number;
  /** The columns that hold the copies. */
  readonly columns: readonly ColumnSchema[];
  protected readonly fields: readonly { readonly own: ColumnSchema; readonly from: ColumnSchema }[];
  private readonly expiry: Expiry | undefined;

  static of(entity: EntitySchema, copy: CopySchema, source: EntitySchema, now: () => number): CopyPlan {
    return copy.map === undefined
      ? new ColumnCopies(entity, copy, source, now)
      : new EntryCopies(entity, copy, source, now);
  }

  protected constructor(
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
  }

  /** Whether a write may name another value for a copy, which is then ignored. Otherwise such an update is refused. */
  abstract readonly ignoresValues: boolean;

  /**
   * The copies that a changed row needs otherwise than the change leaves them. `before`: undefined for a new row. Copies
   * that the change does not concern are not compared.
   */
  abstract amend(before: RowImage | undefined, after: RowImage, read: SourceReader): readonly OwnColumn[];

  /** Whether a change takes copies of a source, which may change while the row is written. */
  abstract takesCopies(before: RowImage | undefined, after: RowImage): boolean;

  /** All copies of a row that differ from their sources. */
  abstract differencesOf(row: RowImage, read: SourceReader): Differences;

  /** Sets the copies of a row as far as it still names the sources that these differences are of. */
  abstract correction(row: RowImage, differences: Differences): EntityChange;

  /** Sets the copies of a source in each of these rows if the row still names it. */
  abstract changes(
    rows: readonly Uint8Array[],
    target: Uint8Array,
    values: CopiedValues,
  ): readonly EntityChange[];

  /** The places of the copies that a row has. */
  abstract placesIn(row: RowImage): readonly CopyPlace[];

  /** The property of a copy at a place, for messages. */
  propertyAt({ family, qualifier }: CopyPlace): string {
    const at = this.columns.find((one) => one.family === family && equalBytes(one.qualifier, qualifier));
    return (at ?? this.columns[0]!).property;
  }

  /** Whether a change of these columns of an existing source may change its copies. */
  copiesAny(columns: readonly ColumnSchema[]): boolean {
    return this.fields.some(({ from }) => columns.includes(from)) || this.link.named.dependsOn(columns);
  }

  /** The values that are copied from a source. */
  valuesOf(source: RowImage | undefined): CopiedValues {
    if (source === undefined || !this.link.named.isIn(source, 'live'))
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

  /** The TTL of a copy written to the row, ms. Undefined: without end. */
  lifeOf(row: RowImage): number | undefined {
    return this.expiry?.remaining(row);
  }

  /** Whether the row is what is left, for a second, of an entity whose time to live is over. */
  hasEnded(row: RowImage): boolean {
    return this.expiry !== undefined && !this.link.own.isIn(row, 'withDeleted');
  }

  /** The change that corrects the copies of a row, and how they differed. */
  repair(
    row: RowImage,
    step: ChangeStep,
  ): { readonly fault: CopyFault | undefined; readonly change: EntityChange } {
    const differences = this.differencesOf(row, (target) => this.read(step, target));
    const change = this.changeOf(row.row, (before) =>
      columnMutations(row.row, differences.columns, this.lifeOf(before)),
    );
    return { fault: differences.fault, change };
  }

  protected changeOf(row: Uint8Array, resolve: EntityChange['resolve']): EntityChange {
    return { entity: this.entity, operation: 'mutate', row, resolve };
  }
}

/** Copies in columns of a row, which names one source. */
class ColumnCopies extends CopyPlan {
  readonly ignoresValues = false;
  /**
   * The columns, if a change of them needs no further amendment: no other source is found by a copied value, and the
   * row has a marker.
   */
  private readonly finalColumns: readonly ColumnSchema[] | undefined;

  constructor(entity: EntitySchema, copy: CopySchema, source: EntitySchema, now: () => number) {
    super(entity, copy, source, now);
    const own = new Set(copy.fields.map(({ column }) => column.property));
    const namesOthers = entity.copies.some(({ via }) => via.some(([, held]) => own.has(held)));
    this.finalColumns = namesOthers || entity.marker === undefined ? undefined : this.columns;
  }

  amend(before: RowImage | undefined, after: RowImage, read: SourceReader): readonly OwnColumn[] {
    if (!this.isConcerned(before, after)) return NOTHING;
    const target = this.link.targetOf(after.toResult());
    return this.differences(after, this.valuesOf(target && read(target)));
  }

  takesCopies(before: RowImage | undefined, after: RowImage): boolean {
    return this.isConcerned(before, after) && this.link.targetOf(after.toResult()) !== undefined;
  }

  differencesOf(row: RowImage, read: SourceReader): Differences {
    const target = this.link.targetOf(row.toResult());
    const source = target && read(target);
    const columns = this.differences(row, this.valuesOf(source));
    if (columns.length === 0) return { fault: undefined, columns };
    if (source === undefined || !this.link.named.isIn(source, 'live')) return { fault: 'extra', columns };
    return { fault: this.placesIn(row).length > 0 ? 'stale' : 'missing', columns };
  }

  correction(row: RowImage, { columns }: Differences): EntityChange {
    const target = this.link.targetOf(row.toResult());
    return this.changeIf(
      (before) => isEqual(this.link.targetOf(before.toResult()), target),
      row.row,
      (before) => remaining(columns, before),
    );
  }

  changes(rows: readonly Uint8Array[], target: Uint8Array, values: CopiedValues): EntityChange[] {
    const names = this.link.naming(target);
    return rows.map((row) => this.changeIf(names, row, (before) => this.differences(before, values)));
  }

  placesIn(row: RowImage): readonly CopyPlace[] {
    return this.columns.filter(({ family, qualifier }) => row.value(family, qualifier) !== undefined);
  }

  private isConcerned(before: RowImage | undefined, after: RowImage): boolean {
    return (
      before === undefined || differ(before, after, this.link.columns) || differ(before, after, this.columns)
    );
  }

  /** The columns of a row that differ from the expected values. */
  private differences(row: RowImage, values: CopiedValues): OwnColumn[] {
    const out: OwnColumn[] = [];
    for (let i = 0; i < values.length; i++) {
      const { family, qualifier } = this.fields[i]!.own;
      const value = values[i];
      if (!isEqual(row.value(family, qualifier), value)) out.push({ family, qualifier, value });
    }
    return out;
  }

  private changeIf(
    holds: (image: RowImage) => boolean,
    row: Uint8Array,
    columnsOf: (before: RowImage) => readonly OwnColumn[],
  ): EntityChange {
    const resolve: EntityChange['resolve'] = (before) =>
      !this.link.own.isIn(before, 'withDeleted') || !holds(before)
        ? []
        : columnMutations(row, columnsOf(before), this.lifeOf(before));
    return { ...this.changeOf(row, resolve), finalColumns: this.finalColumns };
  }
}

/**
 * Copies in the values of a Map. An entry exists as long as the source that its key names has a value, so entries
 * without a source are removed.
 */
class EntryCopies extends CopyPlan {
  readonly ignoresValues = true;
  private readonly map: ColumnSchema;
  /** Single columns that hold the other parts of the key of every source. */
  private readonly shared: readonly ColumnSchema[];

  constructor(entity: EntitySchema, copy: CopySchema, source: EntitySchema, now: () => number) {
    super(entity, copy, source, now);
    this.map = copy.map!;
    this.shared = this.link.columns.filter((column) => column !== this.map);
  }

  amend(before: RowImage | undefined, after: RowImage, read: SourceReader): readonly OwnColumn[] {
    return this.concerned(before, after).flatMap((entry) => this.difference(after, entry, read));
  }

  takesCopies(before: RowImage | undefined, after: RowImage): boolean {
    return this.concerned(before, after).some(({ target }) => target !== undefined);
  }

  differencesOf(row: RowImage, read: SourceReader): Differences {
    const columns = this.entriesOf(row).flatMap((entry) => this.difference(row, entry, read));
    if (columns.length === 0) return { fault: undefined, columns };
    return { fault: columns.some(({ value }) => value === undefined) ? 'extra' : 'stale', columns };
  }

  correction(row: RowImage, { columns }: Differences): EntityChange {
    return this.changeOf(row.row, (before) => {
      if (!this.link.own.isIn(before, 'withDeleted') || differ(row, before, this.shared)) return [];
      const left = columns.filter(({ family, qualifier }) => before.value(family, qualifier) !== undefined);
      return columnMutations(row.row, remaining(left, before), this.lifeOf(before));
    });
  }

  changes(rows: readonly Uint8Array[], target: Uint8Array, [value]: CopiedValues): EntityChange[] {
    const { family } = this.map;
    return rows.map((row) =>
      this.changeOf(row, (before) => {
        if (!this.link.own.isIn(before, 'withDeleted')) return [];
        const qualifier = this.link.entryNaming(before, target);
        if (qualifier === undefined || isEqual(before.value(family, qualifier), value)) return [];
        return columnMutations(row, [{ family, qualifier, value }], this.lifeOf(before));
      }),
    );
  }

  placesIn(row: RowImage): readonly CopyPlace[] {
    const { family, qualifier } = this.map;
    return [...row.all()].filter(
      (cell) => cell.family === family && startsWithBytes(cell.qualifier, qualifier),
    );
  }

  /** The entries whose copy or source a change may alter. */
  private concerned(before: RowImage | undefined, after: RowImage): readonly NamingEntry[] {
    const { family } = this.map;
    if (before === undefined || differ(before, after, this.shared)) return this.entriesOf(after);
    const isNew = ({ qualifier }: CopyPlace) =>
      !isEqual(before.value(family, qualifier), after.value(family, qualifier));
    if (!this.placesIn(after).some(isNew)) return NOTHING;
    return this.entriesOf(after).filter(({ qualifier }) => isNew({ family, qualifier }));
  }

  private entriesOf(row: RowImage): readonly NamingEntry[] {
    return this.link.entriesOf(row.toResult());
  }

  /** The entry as it should be. Undefined: it is. */
  private difference(
    row: RowImage,
    { qualifier, target }: NamingEntry,
    read: SourceReader,
  ): readonly OwnColumn[] {
    const { family } = this.map;
    const [value] = this.valuesOf(target && read(target));
    return isEqual(row.value(family, qualifier), value) ? NOTHING : [{ family, qualifier, value }];
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** The columns that a row does not have as they are to be. */
function remaining(columns: readonly OwnColumn[], row: RowImage): readonly OwnColumn[] {
  return columns.filter(({ family, qualifier, value }) => !isEqual(row.value(family, qualifier), value));
}

function isEqual(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && equalBytes(a, b));
}

export function areEqual(a: CopiedValues, b: CopiedValues): boolean {
  return a.every((value, i) => isEqual(value, b[i]));
}
