import { concatBytes, equalBytes } from '../../bytes/index.js';
import { KeyError, RowanError } from '../../errors.js';
import type { KeyConditions, KeyPlan } from '../../key/types.js';
import type { ChangeStep, MaintainerContext } from '../../repository/maintainer.js';
import { differ, type RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import { linkParts } from '../../schema/links.js';
import {
  type ColumnSchema,
  type EntitySchema,
  type IndexSchema,
  isSingleCell,
  type LinkSchema,
  type RowReader,
  valueAt,
} from '../../schema/types.js';
import { type Result, Scan } from '../../table/index.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, indexTableName } from '../indexes/entry.js';

/** The position of a search. */
export interface LinkPosition {
  readonly range: number;
  /** The last row of the range that was read. Undefined: none yet. */
  readonly row: Uint8Array | undefined;
}

/** Rows that held a key when the index was read. They may hold another by now: test each with `names`. */
interface LinkedRows {
  readonly rows: readonly Uint8Array[];
  /** The position of the next ones. Undefined: there are none. */
  readonly next: LinkPosition | undefined;
}

/** An entry of a Map, whose key names a row. */
export interface NamingEntry {
  readonly qualifier: Uint8Array;
  /** The row. Undefined for a key that names none. */
  readonly target: Uint8Array | undefined;
}

/**
 * Follows a link in both directions: from a row to the row whose key it holds, and back to the rows that hold a key.
 */
export class Link {
  /** Columns that hold parts of the other entity's key. */
  readonly columns: readonly ColumnSchema[];
  /** The Map among them, each of whose keys names a row. Undefined: a row names one row. */
  readonly map: ColumnSchema | undefined;
  private readonly parts: readonly (readonly [part: string, path: readonly string[]])[];
  private readonly properties: readonly string[];
  private readonly reader: RowReader;
  /** The index that finds the rows. Undefined: their key does. */
  readonly index: IndexSchema | undefined;
  private entry: EntryReader | undefined;
  /** The markers that tell whether a row of `schema` or of `other` exists. */
  readonly own: RowMarker;
  readonly named: RowMarker;

  constructor(
    /** The entity whose rows hold the key. */
    readonly schema: EntitySchema,
    link: LinkSchema,
    /** The entity whose key they hold. */
    readonly other: EntitySchema,
  ) {
    const parts = linkParts(link, other)!;
    this.own = new RowMarker(schema);
    this.named = new RowMarker(other);
    this.map = link.map;
    this.properties = parts.map(([, property]) => property);
    this.columns = this.properties.flatMap((property) => schema.columnsByProperty.get(property) ?? []);
    this.parts = parts.map(([part, property]) => [
      part,
      schema.columnsByProperty.get(property)?.path ?? [property],
    ]);
    this.reader = schema.mapper.readerOf(new Set(this.properties));
    this.index = schema.indexes.find(({ name }) => name === link.index);
  }

  /** How the rows are found: `key` or the name of an index. */
  get foundBy(): string {
    return this.index === undefined ? 'key' : `index ${this.index.name}`;
  }

  /** The key that a row holds. Undefined when it holds none. */
  keyOf(row: Result): Record<string, unknown> | undefined {
    const entity = row.isEmpty ? null : this.reader.read(row);
    if (entity === null) return undefined;
    const key: Record<string, unknown> = {};
    for (const [part, path] of this.parts) {
      const value = valueAt(entity, path);
      if (value === undefined) return undefined;
      key[part] = value;
    }
    return key;
  }

  /** The row of a key of `other`. Undefined for values that no key can have. */
  rowOfKey(key: Readonly<Record<string, unknown>>): Uint8Array | undefined {
    try {
      return this.other.mapper.rowOf(key);
    } catch (error) {
      if (error instanceof KeyError) return undefined;
      throw error;
    }
  }

  /** The row of `other` that a row names. Undefined when it names none. */
  targetOf(row: Result): Uint8Array | undefined {
    const key = this.keyOf(row);
    return key && this.rowOfKey(key);
  }

  /** The entries of the link's Map, each with the row that its key names. */
  entriesOf(row: Result): readonly NamingEntry[] {
    const entity = row.isEmpty ? null : this.reader.read(row);
    if (entity === null) return [];
    const key: Record<string, unknown> = {};
    let names = true;
    for (const [part, path] of this.parts) {
      key[part] = valueAt(entity, path);
      if (key[part] === undefined) names = false;
    }
    const part = this.mapPart;
    const entries = (key[part] ?? new Map()) as ReadonlyMap<unknown, unknown>;
    return [...entries.keys()].flatMap((value) => {
      const qualifier = this.qualifierOf(value);
      const target = names ? this.rowOfKey({ ...key, [part]: value }) : undefined;
      return qualifier === undefined ? [] : [{ qualifier, target }];
    });
  }

  /** The entry of the link's Map by which a row names this row of `other`. Undefined: it does not name it. */
  entryNaming(image: RowImage, target: Uint8Array): Uint8Array | undefined {
    const qualifier = this.qualifierOf(this.other.key.decode(target)[this.mapPart]);
    if (qualifier === undefined || image.value(this.map!.family, qualifier) === undefined) return undefined;
    if (this.parts.length === 1) return qualifier;
    const named = this.entriesOf(image.toResult()).find((entry) => equalBytes(entry.qualifier, qualifier));
    return named?.target !== undefined && equalBytes(named.target, target) ? qualifier : undefined;
  }

  /** The part of the other key that the keys of the Map hold. */
  private get mapPart(): string {
    return this.parts[this.properties.indexOf(this.map!.property)]![0];
  }

  /** Undefined for values that no key of the Map can be. */
  private qualifierOf(value: unknown): Uint8Array | undefined {
    const { qualifier, qualifierCodec } = this.map!;
    try {
      return concatBytes(qualifier, qualifierCodec!.encode(value));
    } catch (error) {
      if (error instanceof RowanError) return undefined;
      throw error;
    }
  }

  /** Whether a row names this row of `other`. */
  names(image: RowImage, target: Uint8Array): boolean {
    const named = this.targetOf(image.toResult());
    return named !== undefined && equalBytes(named, target);
  }

  /**
   * As `names`, for many rows of which most name the same target: rows whose link cells equal those of a row that
   * names it are not decoded.
   */
  naming(target: Uint8Array): (image: RowImage) => boolean {
    const { columns } = this;
    const { isByCells } = this;
    let first: RowImage | undefined;
    return (image) => {
      if (first !== undefined && !differ(first, image, columns)) return true;
      if (!this.names(image, target)) return false;
      if (isByCells) first = image;
      return true;
    };
  }

  /** Whether cells alone determine the row of `other`. */
  private get isByCells(): boolean {
    const { columns, properties } = this;
    return columns.length === properties.length && columns.every(isSingleCell);
  }

  /** Up to `limit` rows that hold the key of `target`, from a position on. */
  find(step: ChangeStep, target: Uint8Array, limit: number, from?: LinkPosition): LinkedRows {
    const { index, schema } = this;
    const plan = this.planOf(target);
    const table =
      index === undefined ? schema.table.descriptor.name : indexTableName(schema.table.descriptor.name);
    const rows: Uint8Array[] = [];
    const ranges = plan?.ranges ?? [];
    for (let at = from?.range ?? 0; at < ranges.length; at++) {
      const { start, stop } = ranges[at]!;
      let last = from !== undefined && at === from.range ? from.row : undefined;
      for (;;) {
        if (rows.length >= limit) return { rows, next: { range: at, row: last } };
        const scan =
          last === undefined ? new Scan().withStartRow(start) : new Scan().withStartRow(last, false);
        if (stop !== undefined) scan.withStopRow(stop);
        const wanted = limit - rows.length;
        const found = step.scan(scan.setLimit(wanted), table);
        for (const result of found) {
          last = result.row;
          const row = this.rowOf(result, plan!);
          if (row !== undefined) rows.push(row);
        }
        if (found.length < wanted) break;
      }
    }
    return { rows, next: undefined };
  }

  private rowOf(result: Result, { check }: KeyPlan): Uint8Array | undefined {
    const { index, schema } = this;
    if (check !== undefined && !check(result.row)) return undefined;
    if (index === undefined) return schema.key.matches(result.row) ? result.row : undefined;
    const value = result.getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    if (value === undefined) return undefined;
    this.entry ??= new EntryReader(index);
    this.entry.read(result.row, value, 0, value.length);
    return this.entry.dataRow;
  }

  /** Undefined where no row can hold the key. */
  private planOf(target: Uint8Array): KeyPlan | undefined {
    const key = this.other.key.stored.decode(target);
    const conditions: Record<string, KeyConditions[string]> = {};
    for (const [at, [part]] of this.parts.entries()) {
      conditions[this.properties[at]!] = { kind: 'eq', value: key[part] };
    }
    try {
      return (this.index?.layout ?? this.schema.key).plan(conditions);
    } catch (error) {
      if (error instanceof KeyError) return undefined;
      throw error;
    }
  }
}

/** Rows fenced in one batch. */
const FENCED_TOGETHER = 256;

/**
 * Fences every row that holds the key of `target` by one of the links, before effects are applied in place of another
 * writer. @returns false where others were changing some of them.
 */
export async function fenceLinked(
  { reading, fence }: MaintainerContext,
  plans: readonly { readonly entity: EntitySchema; readonly link: Link }[],
  target: Uint8Array,
): Promise<boolean> {
  let isDone = true;
  for (const { entity, link } of plans) {
    let from: LinkPosition | undefined;
    do {
      const start = from;
      const { rows, next } = await reading((step) => link.find(step, target, FENCED_TOGETHER, start));
      if (!(await fence(entity, rows))) isDone = false;
      from = next;
    } while (from !== undefined);
  }
  return isDone;
}
