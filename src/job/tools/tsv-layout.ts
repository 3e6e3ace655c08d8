/** What the columns of a delimited text mean, and how a line of it is read. */

import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { LATEST_TIMESTAMP, MAX_ROW_LENGTH } from '../../table/index.js';

const ROW_KEY = 'HBASE_ROW_KEY';
const TIMESTAMP = 'HBASE_TS_KEY';
const TTL = 'HBASE_CELL_TTL';
/** Known to HBase, without meaning here. */
const REFUSED = ['HBASE_CELL_VISIBILITY', 'HBASE_ATTRIBUTES_KEY'];

/** A line cannot be read; the message says why. */
export class BadLine extends Error {}

export interface TsvCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
}

export interface TsvLine {
  readonly row: Uint8Array;
  /** Undefined where the columns have none. */
  readonly timestamp: number | undefined;
  /** Milliseconds; undefined where the columns have none. */
  readonly ttl: number | undefined;
  readonly cells: readonly TsvCell[];
}

/** What a column of the text is. */
export type TsvColumn =
  | { readonly kind: 'row' | 'timestamp' | 'ttl' }
  | { readonly kind: 'cell'; readonly family: string; readonly qualifier: Uint8Array };

export class TsvLayout {
  /** Of the columns, each once. */
  readonly families: readonly string[];
  private readonly columns: readonly TsvColumn[];
  private readonly separator: number;

  /** @throws InvalidArgumentError for columns and separators that cannot be. */
  constructor(
    columns: readonly string[],
    separator = '\t',
    private readonly skipEmpty: boolean,
  ) {
    const known = tsvColumns(columns);
    this.columns = known.columns;
    this.families = known.families;
    const bytes = Buffer.from(typeof separator === 'string' ? separator : '');
    if (bytes.length !== 1 || separator === '\n' || separator === '\r') {
      throw new InvalidArgumentError(
        `A separator is one character of ASCII that ends no line, not ${JSON.stringify(separator)}.`,
      );
    }
    this.separator = bytes[0]!;
  }

  /** @throws BadLine */
  parse(line: Uint8Array): TsvLine {
    const { columns, separator } = this;
    const special: TsvSpecial = {};
    const cells: TsvCell[] = [];
    let start = 0;
    let index = 0;
    for (let at = 0; at <= line.length; at++) {
      if (at < line.length && line[at] !== separator) continue;
      const column = columns[index++];
      if (column === undefined) throw new BadLine('Excessive columns');
      if (column.kind !== 'cell') special[column.kind] = line.subarray(start, at);
      else if (at > start || !this.skipEmpty) {
        cells.push({ family: column.family, qualifier: column.qualifier, value: line.subarray(start, at) });
      }
      start = at + 1;
    }
    for (; index < columns.length; index++) {
      const { kind } = columns[index]!;
      if (kind !== 'cell') throw new BadLine(`No ${kind}`);
    }
    return tsvLine(special, cells);
  }
}

/** What a line says beside its cells, as it stands there. */
export interface TsvSpecial {
  row?: Uint8Array;
  timestamp?: Uint8Array;
  ttl?: Uint8Array;
}

/** @throws BadLine when it has no row, or a number that is none. */
export function tsvLine({ row, timestamp, ttl }: TsvSpecial, cells: readonly TsvCell[]): TsvLine {
  const at = timestamp && numberOf(timestamp, 'timestamp', LATEST_TIMESTAMP - 1);
  const life = ttl && ttl.length > 0 ? numberOf(ttl, 'time to live', Number.MAX_SAFE_INTEGER) : 0;
  if (row === undefined || row.length === 0) throw new BadLine('No row');
  if (row.length > MAX_ROW_LENGTH) throw new BadLine(`A row of ${row.length} bytes`);
  return { row, timestamp: at, ttl: life === 0 ? undefined : life, cells };
}

/** The columns that texts name, and their families, each once. @throws InvalidArgumentError for columns that cannot be. */
export function tsvColumns(names: readonly string[]): {
  readonly columns: readonly TsvColumn[];
  readonly families: readonly string[];
} {
  if (!Array.isArray(names) || names.length === 0) throw wrong('there are none');
  const columns = names.map(tsvColumn);
  for (const [name, kind] of [
    [ROW_KEY, 'row'],
    [TIMESTAMP, 'timestamp'],
    [TTL, 'ttl'],
  ]) {
    if (columns.filter((column) => column.kind === kind).length > 1)
      throw wrong(`${name} stands there twice`);
  }
  if (!columns.some(({ kind }) => kind === 'row')) throw wrong(`${ROW_KEY} is missing`);
  const families = [...new Set(columns.flatMap((column) => (column.kind === 'cell' ? [column.family] : [])))];
  if (families.length === 0) throw wrong('no column is written');
  return { columns, families };
}

/** The column that a text names. @throws InvalidArgumentError for one that cannot be. */
export function tsvColumn(text: string): TsvColumn {
  if (typeof text !== 'string') throw wrong(`${describe(text)} is no text`);
  if (text === ROW_KEY) return { kind: 'row' };
  if (text === TIMESTAMP) return { kind: 'timestamp' };
  if (text === TTL) return { kind: 'ttl' };
  if (REFUSED.includes(text)) throw wrong(`${text} is not supported`);
  const [family, ...rest] = text.split(':');
  if (family === undefined || family === '') throw wrong(`"${text}" names no family`);
  return { kind: 'cell', family, qualifier: Buffer.from(rest.join(':')) };
}

function numberOf(field: Uint8Array, what: string, most: number): number {
  const text = Buffer.from(field).toString('latin1');
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= most) return value;
  throw new BadLine(`"${text.slice(0, 40)}" is no ${what}`);
}

function wrong(why: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `The columns of importtsv cannot be: ${why}. Write ${ROW_KEY} and family:qualifier, with commas between, one for each ` +
      'column of the text.',
  );
}
