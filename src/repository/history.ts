import { QueryError } from '../errors.js';
import { recovering, type TableAccess } from '../query/access.js';
import { timeOf } from '../query/find-options.js';
import { mapColumn, qualifierOf } from '../query/slice.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { checkOptions, checkPositiveInteger, describe } from '../table/checks.js';
import { Get, LATEST_TIMESTAMP, type OperationOptions } from '../table/index.js';
import type { HistoryEntry } from './options.js';

export interface HistoryOptions extends OperationOptions {
  /** Only versions written at or after this time (ms or Date). */
  readonly from?: number | Date;
  /** Only versions written before this time. */
  readonly to?: number | Date;
  /** For a Map of columns: the key of the entry. */
  readonly entry?: unknown;
  /** The most versions, newest first. Default: all that the family keeps. */
  readonly limit?: number;
}

const HISTORY_OPTIONS: Readonly<Record<keyof HistoryOptions, true>> = {
  from: true,
  to: true,
  entry: true,
  limit: true,
  signal: true,
  timeout: true,
  attributes: true,
};

/** Reads the kept versions of a column, or of a Map entry, newest first. */
export async function readHistory(
  schema: EntitySchema,
  access: TableAccess,
  row: Uint8Array,
  property: string,
  options: HistoryOptions,
): Promise<HistoryEntry<unknown>[]> {
  checkOptions('history', options, HISTORY_OPTIONS);
  const column = historyColumn(schema, property, options.entry);
  const qualifier = options.entry === undefined ? column.qualifier : qualifierOf(column, options.entry);
  const get = new Get(row).addColumn(column.family, qualifier);
  if (options.limit === undefined) get.readAllVersions();
  else get.readVersions(checkPositiveInteger(options.limit, 'The limit of a history'));
  const { from = 0, to = LATEST_TIMESTAMP } = options;
  get.setTimeRange(timeOf('history', from), timeOf('history', to));
  const result = await access.table.get(get, options);
  return recovering(access, () =>
    result.cells.map((cell) => ({ timestamp: cell.timestamp, value: column.codec.decode(cell.value) })),
  );
}

function historyColumn(schema: EntitySchema, property: string, entry: unknown): ColumnSchema {
  if (entry !== undefined) return mapColumn(schema, property);
  const column = schema.columnsByProperty.get(property);
  if (column !== undefined && column.kind !== 'columns') return column;
  throw new QueryError(
    column === undefined
      ? `history: ${schema.name} has no column ${describe(property)}. It has ${[...schema.columnsByProperty.keys()].join(', ')}.`
      : `history: ${schema.name}.${property} holds many columns; ask for the history of one, { entry: key }.`,
    { details: { entity: schema.name, property } },
  );
}
