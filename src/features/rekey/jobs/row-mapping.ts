import { equalBytes } from '../../../bytes/index.js';
import type { KeyPart } from '../../../key/types.js';
import { isMark } from '../../../repository/index.js';
import { type ColumnSchema, type EntitySchema, LIST_QUALIFIER } from '../../../schema/types.js';
import { Cell, CellType, CellWithTtl } from '../../../table/index.js';

/** Translates rows and cells of an entity between two key layouts. */

/** Reads the newest value of a column in the row being translated. */
export type ValueOf = (column: ColumnSchema) => Uint8Array | undefined;

/** The translation in one direction. `mappingProblems` tells whether it is possible. */
export class RowMapping {
  /** Columns of the source that become parts of the target's key. A row without their values has no counterpart. */
  readonly needed: readonly ColumnSchema[];
  /** Columns of the target for key parts that its key cannot give back, which the source has in its key. */
  private readonly added: readonly { readonly column: ColumnSchema; readonly part: string }[];
  /** Columns of the source that become parts of the target's key. */
  private readonly dropped: readonly ColumnSchema[];
  /** Whether rows may have shadows and change marks, by which writers on HBase know the row as they left it. */
  private readonly hasMarks: boolean;
  /** Whether rows may have lists of their entries. */
  private readonly hasLists: boolean;
  /** Whether only the row key differs. */
  private readonly onlyRowsDiffer: boolean;

  constructor(
    readonly source: EntitySchema,
    readonly target: EntitySchema,
  ) {
    const recoverable = new Set(recoverableParts(source));
    this.needed = target.key.parts
      .filter(({ name }) => !recoverable.has(name))
      .flatMap(({ name }) => source.columnsByProperty.get(name) ?? []);
    this.added = target.columns
      .filter((column) => recoverable.has(column.property))
      .map((column) => ({ column, part: column.property }));
    const keyed = new Set(target.key.parts.map(({ name }) => name));
    this.dropped = source.columns.filter(
      ({ property }) => keyed.has(property) && !target.columnsByProperty.has(property),
    );
    this.hasMarks = source.summaries.length > 0 || source.changeMarks !== undefined;
    this.hasLists = source.marker !== undefined && source.indexes.some(({ eventual }) => eventual);
    this.onlyRowsDiffer =
      !this.hasMarks &&
      !this.hasLists &&
      this.dropped.length === 0 &&
      this.added.length === 0 &&
      isMarkedAlike(source, target);
  }

  matches(row: Uint8Array): boolean {
    return this.source.key.matches(row);
  }

  /**
   * The target's row key. Undefined while the source's row lacks a column of the target's key, or `stored` is left out and the key needs
   * columns.
   */
  rowOf(row: Uint8Array, stored?: ValueOf): Uint8Array | undefined {
    const values = this.source.key.decode(row);
    for (const column of this.needed) {
      const value = stored?.(column);
      if (value === undefined) return undefined;
      values[column.property] = column.codec.decode(value);
    }
    return this.target.key.encode(values);
  }

  /**
   * Translates cells of a source's row, deletes included; the row named in the cells is ignored. `withParts`: adds a
   * cell for each key part that the target stores as a column, at the timestamp of each marker.
   */
  cellsOf(row: Uint8Array, target: Uint8Array, cells: readonly Cell[], withParts = true): readonly Cell[] {
    const { dropped, added, onlyRowsDiffer } = this;
    if (onlyRowsDiffer) return cells;
    const from = this.source.marker;
    const to = this.target.marker;
    const out: Cell[] = [];
    for (const cell of cells) {
      if (dropped.some((column) => isAt(column, cell))) continue;
      // No writer has written the copy yet.
      if (this.hasMarks && isMark(this.source, cell)) continue;
      // The entries of the copy are others.
      if (this.hasLists && isAt({ family: from!.family, qualifier: LIST_QUALIFIER }, cell)) continue;
      const marker = from !== undefined && to !== undefined && isAt(from, cell);
      out.push(marker ? cellAt(cell, target, to.family, to.qualifier, cell.value) : moved(cell, target));
      if (!marker || !withParts || added.length === 0 || cell.type !== CellType.Put) continue;
      const values = this.source.key.decode(row);
      for (const { column, part } of added) {
        out.push(cellAt(cell, target, column.family, column.qualifier, column.codec.encode(values[part])));
      }
    }
    return out;
  }
}

function isMarkedAlike({ marker }: EntitySchema, { marker: other }: EntitySchema): boolean {
  if (marker === undefined || other === undefined) return true;
  return marker.family === other.family && equalBytes(marker.qualifier, other.qualifier);
}

function moved(cell: Cell, row: Uint8Array): Cell {
  return cellAt(cell, row, cell.family, cell.qualifier, cell.value);
}

function cellAt(cell: Cell, row: Uint8Array, family: string, qualifier: Uint8Array, value: Uint8Array): Cell {
  const { timestamp, type } = cell;
  return cell instanceof CellWithTtl
    ? new CellWithTtl(row, family, qualifier, timestamp, type, value, cell.ttl)
    : new Cell(row, family, qualifier, timestamp, type, value);
}

function isAt(
  place: { readonly family: string; readonly qualifier: Uint8Array },
  { family, qualifier }: Cell,
): boolean {
  return place.family === family && equalBytes(place.qualifier, qualifier);
}

function recoverableParts({ key }: EntitySchema): string[] {
  return key.parts.filter(({ recoverable }) => recoverable).map(({ name }) => name);
}

/**
 * Returns the reasons why rows of one entity cannot be translated to the other, each a sentence. Empty when they can.
 */
export function mappingProblems(
  source: EntitySchema,
  target: EntitySchema,
  declared: readonly EntitySchema[] = [],
): string[] {
  const problems = [
    ...generalProblems(source),
    ...generalProblems(target),
    ...followers(source, declared),
    ...followers(target, declared),
  ];
  const names = (parts: readonly KeyPart[]): Set<string> => new Set(parts.map(({ name }) => name));
  const stored = (schema: EntitySchema): Set<string> =>
    new Set([...recoverableParts(schema), ...schema.columns.map(({ property }) => property)]);
  for (const [one, other] of [
    [source, target],
    [target, source],
  ] as const) {
    for (const name of names(one.key.parts)) {
      if (!stored(other).has(name))
        problems.push(
          `The key of ${one.name} contains "${name}", which ${other.name} does not store, so two rows could become one. Declare it as a column or key part of ${other.name}.`,
        );
    }
    for (const column of one.columns) {
      const same = other.columnsByProperty.get(column.property);
      if (same !== undefined && !isSameColumn(column, same))
        problems.push(
          `"${column.property}" has different columns or codecs in ${source.name} and ${target.name}. Keep the declaration, and move the column after the key change.`,
        );
      if (same === undefined && !names(other.key.parts).has(column.property))
        problems.push(
          `"${column.property}" is a property of ${one.name} and not of ${other.name}. Declare it in both, and remove it after the key change.`,
        );
    }
  }
  if ((source.changesKept === undefined) !== (target.changesKept === undefined)) {
    const [one, other] = source.changesKept === undefined ? [target, source] : [source, target];
    problems.push(
      `${one.name} records its changes, and ${other.name} does not, so feeds could not continue. Declare the same "changes" for both.`,
    );
  }
  if (pairOf(source) !== pairOf(target))
    problems.push(
      `Mutual links of ${source.name} and ${target.name} differ, so a write of one would leave links of the other without their mirrors. Declare the same \`mutual\` for both.`,
    );
  if (source.version !== target.version)
    problems.push(
      `Rows of ${source.name} have version ${source.version}, and those of ${target.name} version ${target.version}. Copies keep their version, and a later upgrade would take them for rows of another one. Declare the same \`schemaVersion\` for both.`,
    );
  if (source.deletedProperty !== target.deletedProperty)
    problems.push(
      `${source.name} and ${target.name} do not keep deleted rows by the same property, so rows deleted in one would be there in the other. Declare the same @DeletedAt for both.`,
    );
  if (source.timeToLive.lifelong !== target.timeToLive.lifelong)
    problems.push(
      `Rows of only one of ${source.name} and ${target.name} expire as a whole, and copies expire as their rows do: indexes and summaries of the other would keep them. Declare a time to live (\`ttl\`, @Ttl) for both.`,
    );
  if ((source.marker === undefined) !== (target.marker === undefined))
    problems.push('Only one of them has a row marker. Declare the same `marker` for both.');
  const mapping = [new RowMapping(source, target), new RowMapping(target, source)];
  if (
    source.marker === undefined &&
    mapping.some((each) =>
      each.target.columns.some((column) => recoverableParts(each.source).includes(column.property)),
    )
  )
    problems.push(
      'A key part becomes a column or a column a key part, which requires the timestamps of a row marker. Declare `marker`.',
    );
  const ends =
    source.timeToLive.lifelong ||
    source.timeToLive.milliseconds !== undefined ||
    source.timeToLive.property !== undefined;
  if (ends && mapping.some(({ needed }) => needed.length > 0))
    problems.push(
      'Its rows expire, and with a key of columns the remaining time to live would have to move to another row. Declare the part in both keys.',
    );
  return [...new Set(problems)];
}

/** The parts that mutual links exchange, whichever is named first. */
function pairOf({ mutual }: EntitySchema): string | undefined {
  return mutual && [...mutual].sort().join(' ');
}

/** Entities that depend on writes of this one, and would not see the dual writes of its rows. */
function followers({ name, target }: EntitySchema, declared: readonly EntitySchema[]): string[] {
  return declared
    .filter(({ copies, references }) => [...copies, ...references].some((link) => link.target() === target))
    .map(
      (other) =>
        `${other.name} copies ${name}, or has referential rules about it, which are applied to its own writes only. Remove them until the keys are changed.`,
    );
}

function generalProblems(schema: EntitySchema): string[] {
  const { name, key, columns, table } = schema;
  const problems: string[] = [];
  if (!key.deterministic)
    problems.push(
      `The salt of ${name} is random, so the row of an entity cannot be computed. Declare salt(n).`,
    );
  if (key.substitutions.length > 0)
    problems.push(
      `${name} has key parts that are dictionary ids, which cannot be looked up in the step of a write. Declare the parts without substitute.`,
    );
  if (columns.some(({ window }) => window !== undefined))
    problems.push(
      `${name} packs a time span into each row, and rows would have to be split. Write a new table with a job.`,
    );
  if (columns.some(({ was }) => was.length > 0))
    problems.push(`Columns of ${name} are being moved. Finish that first: rowan schema apply.`);
  if (schema.upgrades.length > 0)
    problems.push(
      `Rows of ${name} are being upgraded. Finish that first: rowan schema apply, then remove @Upgrade.`,
    );
  if (schema.copies.length + schema.references.length > 0)
    problems.push(
      `${name} declares copies or referential rules, which are applied to its own writes only. Remove them until the keys are changed.`,
    );
  if (table.descriptor.families.some(({ newVersionBehavior }) => newVersionBehavior))
    problems.push(
      `Table "${table.descriptor.name}" has NEW_VERSION_BEHAVIOR, where the order of writes decides which cells are visible, and copies have another order. Use a table without it.`,
    );
  return problems;
}

function isSameColumn(a: ColumnSchema, b: ColumnSchema): boolean {
  return (
    a.family === b.family &&
    equalBytes(a.qualifier, b.qualifier) &&
    a.kind === b.kind &&
    a.codec.name === b.codec.name &&
    a.qualifierCodec?.name === b.qualifierCodec?.name
  );
}
