/** What the columns of a delimited text mean, and how a line of it is read. */

import { InvalidArgumentError } from '../../errors.js';
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

type Column =
  | { readonly kind: 'row' | 'timestamp' | 'ttl' }
  | { readonly kind: 'cell'; readonly family: string; readonly qualifier: Uint8Array };

export class TsvLayout {
  /** Of the columns, each once. */
  readonly families: readonly string[];
  private readonly columns: readonly Column[];
  private readonly separator: number;

  /** @throws InvalidArgumentError for columns and separators that cannot be. */
  constructor(
    columns: readonly string[],
    separator = '\t',
    private readonly skipEmpty: boolean,
  ) {
    if (!Array.isArray(columns) || columns.length === 0) throw wrong('there are none');
    this.columns = columns.map(columnOf);
    for (const [name, kind] of [
      [ROW_KEY, 'row'],
      [TIMESTAMP, 'timestamp'],
      [TTL, 'ttl'],
    ]) {
      if (this.columns.filter((column) => column.kind === kind).length > 1)
        throw wrong(`${name} stands there twice`);
    }
    if (!this.columns.some(({ kind }) => kind === 'row')) throw wrong(`${ROW_KEY} is missing`);
    this.families = [
      ...new Set(this.columns.flatMap((column) => (column.kind === 'cell' ? [column.family] : []))),
    ];
    if (this.families.length === 0) throw wrong('no column is written');
    const bytes = Buffer.from(separator);
    if (bytes.length !== 1) {
      throw new InvalidArgumentError(
        `A separator is one character of ASCII, not ${JSON.stringify(separator)}.`,
      );
    }
    this.separator = bytes[0]!;
  }

  /** @throws BadLine */
  parse(line: Uint8Array): TsvLine {
    const fields = this.split(line);
    if (fields.length > this.columns.length) throw new BadLine('Excessive columns');
    let row: Uint8Array | undefined;
    let timestamp: number | undefined;
    let ttl: number | undefined;
    const cells: TsvCell[] = [];
    for (const [index, column] of this.columns.entries()) {
      const field = fields[index];
      if (column.kind === 'cell') {
        const { family, qualifier } = column;
        if (field !== undefined && !(this.skipEmpty && field.length === 0))
          cells.push({ family, qualifier, value: field });
      } else if (field === undefined) throw new BadLine(`No ${column.kind}`);
      else if (column.kind === 'row') row = field;
      else if (column.kind === 'timestamp') timestamp = numberOf(field, 'timestamp', LATEST_TIMESTAMP - 1);
      else ttl = field.length === 0 ? undefined : numberOf(field, 'time to live', Number.MAX_SAFE_INTEGER);
    }
    if (row === undefined || row.length === 0) throw new BadLine('No row');
    if (row.length > MAX_ROW_LENGTH) throw new BadLine(`A row of ${row.length} bytes`);
    return { row, timestamp, ttl: ttl === 0 ? undefined : ttl, cells };
  }

  private split(line: Uint8Array): Uint8Array[] {
    const fields: Uint8Array[] = [];
    for (let start = 0; ; ) {
      const end = line.indexOf(this.separator, start);
      fields.push(line.subarray(start, end < 0 ? line.length : end));
      if (end < 0) return fields;
      start = end + 1;
    }
  }
}

function columnOf(text: string): Column {
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
