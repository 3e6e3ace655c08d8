/** Converts CSV records and JSON objects to rows of cells, by the columns of their properties. */

import { InvalidArgumentError, RowanError } from '../errors.js';
import type { FileItem, JobSource } from '../job/pipeline/source.js';
import type { SplitContext } from '../job/types.js';
import { toTagged } from '../mapper/tagged.js';
import type { Result } from '../table/index.js';
import {
  BadLine,
  rowOfLine,
  type TsvCell,
  type TsvColumn,
  type TsvLine,
  type TsvOptions,
  type TsvSpecial,
  tsvColumn,
  tsvColumns,
  tsvLine,
} from './import-tsv.js';

/** The columns of properties, and their families without duplicates. */
export interface ItemColumns {
  readonly families: readonly string[];
  readonly byProperty: ReadonlyMap<string, TsvColumn>;
}

/** For CSV, where fields have the names of their columns. @throws InvalidArgumentError for invalid columns. */
export function positionedColumns(columns: readonly string[]): ItemColumns {
  return itemColumns(columns.map((column) => [column, column]));
}

/** For objects: `property=column`, or only the column. @throws InvalidArgumentError for invalid columns. */
export function namedColumns(columns: readonly string[]): ItemColumns {
  return itemColumns(
    columns.map((given) => {
      const at = given.indexOf('=');
      return at < 0 ? [given, given] : [given.slice(0, at), given.slice(at + 1)];
    }),
  );
}

function itemColumns(pairs: readonly (readonly [property: string, column: string])[]): ItemColumns {
  const { columns, families } = tsvColumns(pairs.map(([, column]) => column));
  const byProperty = new Map(pairs.map(([property], at) => [property, columns[at]!]));
  if (byProperty.size === pairs.length) return { families, byProperty };
  throw new InvalidArgumentError('A property occurs twice in the columns. Name each once.');
}

/** Items as rows, with the given timestamp if they have none. Counters: `lines`, `cells`, `bad lines`. */
export class ItemRows {
  private readonly known: Map<string, TsvColumn>;

  constructor(
    private readonly source: JobSource<FileItem>,
    private readonly given: ItemColumns | undefined,
    private readonly families: ReadonlySet<string>,
    private readonly timestamp: number,
    private readonly context: SplitContext,
    private readonly options: Omit<TsvOptions, 'columns'>,
  ) {
    this.known = new Map(given?.byProperty);
  }

  rows(read: readonly Result[]): Result[] {
    const rows: Result[] = [];
    for (const row of read) {
      const item = this.source.load(row) as FileItem | null;
      if (item === null) continue;
      this.context.count('lines');
      const line = this.parse(item);
      if (line === undefined || line.cells.length === 0) continue;
      this.context.count('cells', line.cells.length);
      rows.push(rowOfLine(line, this.timestamp));
    }
    return rows;
  }

  private parse(item: FileItem): TsvLine | undefined {
    try {
      return this.lineOf(item.read());
    } catch (error) {
      const isBad = error instanceof BadLine || error instanceof SyntaxError || error instanceof RowanError;
      if (!isBad) throw error;
      const { path, offset, place } = item;
      const { skipBadLines, onBadLine } = this.options;
      if (skipBadLines === false) {
        throw new InvalidArgumentError(
          `The item at ${place} of ${path} cannot be read: ${error.message}. Correct it, or skip bad lines.`,
          { cause: error, details: { file: path, offset } },
        );
      }
      this.context.count('bad lines');
      onBadLine?.({ file: path, offset, why: error.message });
      return undefined;
    }
  }

  /**
   * Converts an item.
   * @throws BadLine
   */
  private lineOf(item: unknown): TsvLine {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new BadLine('No object');
    const special: TsvSpecial = {};
    const cells: TsvCell[] = [];
    for (const [property, value] of Object.entries(item)) {
      if (value === null || value === undefined) continue;
      const column = this.columnOf(property);
      if (column === undefined) continue;
      const bytes = bytesOf(value);
      if (column.kind !== 'cell') special[column.kind] = bytes;
      else if (bytes.length > 0 || this.options.skipEmptyColumns !== true) {
        cells.push({ family: column.family, qualifier: column.qualifier, value: bytes });
      }
    }
    return tsvLine(special, cells);
  }

  /** Undefined: the property is ignored. @throws BadLine for an invalid column. */
  private columnOf(property: string): TsvColumn | undefined {
    const known = this.known.get(property);
    if (known !== undefined || this.given !== undefined) return known;
    const column = tsvColumn(property);
    if (column.kind === 'cell' && !this.families.has(column.family)) {
      throw new BadLine(`The table has no family for ${JSON.stringify(property)}`);
    }
    // The cache is bounded, because the number of property names is not.
    if (this.known.size < 10_000) this.known.set(property, column);
    return column;
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value === 'bigint') return Buffer.from(String(value));
  if (value instanceof Date) return Buffer.from(value.toISOString());
  return Buffer.from(JSON.stringify(toTagged(value)));
}
