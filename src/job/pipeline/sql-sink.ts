/** A sink that writes to a table of a relational database, with any driver. */

import { InvalidArgumentError } from '../../errors.js';
import { plainValue, toTagged } from '../../mapper/tagged.js';
import { describe } from '../../table/checks.js';
import type { Sink, SinkWriter } from './sink.js';

export type SqlDialect = 'postgres' | 'sqlite' | 'mysql';

/** A value that a driver binds to a parameter. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** A connection of any driver. Each active split has a connection of its own. */
export interface SqlConnection {
  /** Runs one statement, with values for its parameters, outside of a transaction. */
  execute(sql: string, parameters: SqlValue[]): unknown;
  close?(): void | Promise<void>;
}

export interface SqlTableOptions<T extends object> {
  readonly dialect: SqlDialect;
  readonly table: string;
  /** The schema of the table. Default: that of the connection. */
  readonly schema?: string;
  /** The properties of the items that are written, which are the columns. */
  readonly columns: readonly (keyof T & string)[];
  /**
   * The columns of the table's primary key, or of a unique index. With it, existing rows are replaced, so each item is
   * stored once even after interruptions. Without it, items are only inserted, and those after the last checkpoint may
   * be stored twice.
   */
  readonly key?: readonly (keyof T & string)[];
  /**
   * The largest number of items in a statement. Default 500; fewer if a statement would have more than 30,000
   * parameters.
   */
  readonly rowsPerStatement?: number;
  connect(): SqlConnection | Promise<SqlConnection>;
}

const ROWS = 500;
/** SQLite allows 32,766 parameters in a statement, the others 65,535. */
const MAX_PARAMETERS = 30_000;

/**
 * Writes items as rows of a relational table. Undefined becomes NULL, value objects what their `toJSON` returns, other objects and
 * lists JSON text; for SQLite, Dates become ISO strings and booleans 0 and 1.
 * @throws InvalidArgumentError for invalid options.
 */
export function sqlTable<T extends object>(options: SqlTableOptions<T>): Sink<T> {
  const { dialect, table, schema, columns, key = [] } = options;
  if (dialect !== 'postgres' && dialect !== 'sqlite' && dialect !== 'mysql') {
    throw new InvalidArgumentError(
      `The dialect of sqlTable must be postgres, sqlite or mysql, not ${describe(dialect)}.`,
    );
  }
  if (!Array.isArray(columns) || columns.length === 0) {
    throw new InvalidArgumentError('sqlTable needs columns: the properties of the items to store.');
  }
  const stranger = key.find((column) => !columns.includes(column));
  if (stranger !== undefined) {
    throw new InvalidArgumentError(`The key of sqlTable has "${stranger}", which is not one of its columns.`);
  }
  const rows = Math.min(
    rowsPerStatement(options.rowsPerStatement),
    Math.floor(MAX_PARAMETERS / columns.length),
  );
  return {
    // Without a key, items that are written anew are stored twice.
    filesOnly: key.length > 0,
    signature: `sql ${JSON.stringify([dialect, schema, table, columns, key])}`,
    open: async () => new SqlWriter(options, rows, await options.connect()) as SinkWriter<T>,
  };
}

function rowsPerStatement(rows: number = ROWS): number {
  if (Number.isSafeInteger(rows) && rows >= 1) return rows;
  throw new InvalidArgumentError(
    `rowsPerStatement of sqlTable must be a whole number of at least 1, not ${describe(rows)}.`,
  );
}

class SqlWriter implements SinkWriter<Readonly<Record<string, unknown>>> {
  constructor(
    private readonly options: SqlTableOptions<never>,
    private readonly rows: number,
    private readonly connection: SqlConnection,
  ) {}

  async write(items: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    const distinct = this.distinct(items);
    for (let at = 0; at < distinct.length; at += this.rows) {
      const some = distinct.slice(at, at + this.rows);
      await this.connection.execute(
        statementOf(this.options, some.length),
        some.flatMap((row) => row.values),
      );
    }
  }

  async close(): Promise<void> {
    await this.connection.close?.();
  }

  /**
   * The last item of each key, in key order. One statement must not replace a row twice, and two statements that lock
   * rows in different orders could deadlock.
   */
  private distinct(items: readonly Readonly<Record<string, unknown>>[]): readonly { values: SqlValue[] }[] {
    const { columns, key = [], dialect } = this.options as SqlTableOptions<Record<string, unknown>>;
    const rows = items.map((item) => ({
      name: JSON.stringify(key.map((column) => toTagged(plainValue(item[column] ?? null)))),
      values: columns.map((column) => bound(item[column], dialect)),
    }));
    if (key.length === 0) return rows;
    const byName = new Map(rows.map((row) => [row.name, row]));
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function bound(given: unknown, dialect: SqlDialect): SqlValue {
  const value = plainValue(given);
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return dialect === 'sqlite' ? value.toISOString() : value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length);
  if (typeof value === 'boolean') return dialect === 'sqlite' ? Number(value) : value;
  if (typeof value === 'object') return JSON.stringify(toTagged(value));
  return value as SqlValue;
}

function statementOf(options: SqlTableOptions<never>, rows: number): string {
  const { dialect, schema, table, columns, key = [] } = options as SqlTableOptions<Record<string, unknown>>;
  const quote = dialect === 'mysql' ? '`' : '"';
  const name = (text: string): string => `${quote}${text.replaceAll(quote, quote + quote)}${quote}`;
  const target = schema === undefined ? name(table) : `${name(schema)}.${name(table)}`;
  let parameter = 0;
  const row = (): string =>
    `(${columns.map(() => (dialect === 'postgres' ? `$${++parameter}` : '?')).join(', ')})`;
  const values = Array.from({ length: rows }, row).join(', ');
  const insert = `INSERT INTO ${target} (${columns.map(name).join(', ')}) VALUES ${values}`;
  if (key.length === 0) return insert;
  const others = columns.filter((column) => !key.includes(column));
  if (dialect === 'mysql') {
    const set = (others.length > 0 ? others : key).map(
      (column) => `${name(column)} = VALUES(${name(column)})`,
    );
    return `${insert} ON DUPLICATE KEY UPDATE ${set.join(', ')}`;
  }
  const set = others.map((column) => `${name(column)} = excluded.${name(column)}`).join(', ');
  return `${insert} ON CONFLICT (${key.map(name).join(', ')}) DO ${others.length > 0 ? `UPDATE SET ${set}` : 'NOTHING'}`;
}
