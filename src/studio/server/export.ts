/** The rows of a question as a file: NDJSON and CSV as `rowan entities` reads them, or a fixture of TypeScript. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError } from '../../errors.js';
import { csvLine } from '../../job/files/line-files.js';
import { partName } from '../../job/files/part-file.js';
import type { SplitContext } from '../../job/types.js';
import type { EntitySchema } from '../../schema/types.js';
import { entityFormat, propertiesOf } from '../../tools/entity-formats.js';
import type { Question } from './api.js';
import { type AnyQuery, literal, readQuestion } from './questions.js';
import type { Limits } from './rows.js';
import type { StudioDatabase } from './studio-database.js';

type Properties = Readonly<Record<string, unknown>>;

export interface ExportedFile {
  readonly type: string;
  readonly name: string;
  /** The file in pieces, each a page of rows. */
  readonly pieces: AsyncGenerator<string | Uint8Array, void>;
}

type FileLimits = Pick<Limits, 'rows' | 'bytes'>;

interface FileText {
  readonly type: string;
  readonly begins: string;
  line(entity: Properties): string;
  readonly ends: string;
}

/** Rows that are read at once: what a page left behind takes no more than these. */
const PAGE = 50;

/**
 * The rows of a question, whole and in its order, up to the limits of one request.
 * @throws InvalidArgumentError for an unknown format; KeyError, QueryError on what cannot be asked. Its pieces throw at a
 *   row that cannot be decoded.
 */
export function exportedFile(
  db: StudioDatabase,
  entity: string,
  question: Question,
  format: string,
  limits: Limits,
  signal: AbortSignal,
): ExportedFile {
  const { schema, query } = readQuestion(db, entity, question, signal);
  const { rows, bytes } = limits;
  const most = { rows: Math.min(rows, question.limit ?? rows), bytes };
  const name = `${entity.replace(/[^\w.-]/g, '_')}.first-${most.rows}.${format}`;
  if (format === 'parquet')
    return { type: 'application/vnd.apache.parquet', name, pieces: parquetFile(schema, query, most) };
  const text = textOf(schema, format);
  const pieces = async function* (): AsyncGenerator<string, void> {
    let begins = text.begins;
    for await (const items of pagesOf(query, most)) {
      // The first rows stand with what the file begins with: an error in them is answered before any of it is sent.
      yield begins + items.map((item) => text.line(item)).join('');
      begins = '';
    }
    yield begins + text.ends;
  };
  return { type: text.type, name, pieces: pieces() };
}

/** The file as a whole: a reader of Parquet begins at its end. It is made in the folder for temporary files. */
async function* parquetFile(
  schema: EntitySchema,
  query: AnyQuery,
  limits: FileLimits,
): AsyncGenerator<Uint8Array, void> {
  const format = entityFormat('parquet', schema, undefined);
  const folder = await mkdtemp(join(tmpdir(), 'rowan-studio-'));
  try {
    const part: Pick<SplitContext, 'split' | 'resumed'> = { split: 0, resumed: undefined };
    const writer = await format.sink(folder).open(part as SplitContext);
    for await (const items of pagesOf(query, limits))
      await writer.write(items.map((item) => format.toItem(item)) as never);
    await writer.commit?.();
    await writer.close?.();
    yield await readFile(join(folder, partName(0, 'parquet')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Pages of entities, up to the limits of one request. */
async function* pagesOf(query: AnyQuery, limits: FileLimits): AsyncGenerator<readonly Properties[], void> {
  let bytes = 0;
  let left = limits.rows;
  let cursor: string | undefined;
  do {
    const page = await query.page({
      size: Math.min(PAGE, left),
      ...(cursor !== undefined && { cursor }),
    });
    const items = page.items as readonly Properties[];
    left -= items.length;
    cursor = page.cursor ?? undefined;
    bytes += items.reduce((sum, item) => sum + sizeOf(item), 0);
    if (cursor !== undefined && (left === 0 || bytes >= limits.bytes)) cursor = undefined;
    yield items;
  } while (cursor !== undefined);
}

/** About the bytes of an entity. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  const inner: Iterable<unknown> = value instanceof Map ? value.values() : Object.values(value);
  let sum = 0;
  for (const each of inner) sum += sizeOf(each);
  return sum;
}

function textOf(schema: EntitySchema, format: string): FileText {
  switch (format) {
    case 'ndjson': {
      const lines = entityFormat('ndjson', schema, undefined);
      const line = (entity: Properties): string => `${JSON.stringify(lines.toItem(entity))}\n`;
      return { type: 'application/x-ndjson', begins: '', line, ends: '' };
    }
    case 'csv': {
      const lines = entityFormat('csv', schema, undefined);
      const columns = propertiesOf(schema);
      const line = (entity: Properties): string => {
        const fields = lines.toItem(entity) as Readonly<Record<string, string>>;
        return `${csvLine(
          columns.map((column) => fields[column] ?? ''),
          ',',
        )}\n`;
      };
      return { type: 'text/csv', begins: `${csvLine(columns, ',')}\n`, line, ends: '' };
    }
    case 'ts': {
      const { name } = schema.target;
      const line = (entity: Properties): string => {
        const given = Object.entries(entity).filter(([, value]) => value !== undefined);
        return `  Object.assign(new ${name}(), ${literal(Object.fromEntries(given))}),\n`;
      };
      const begins = `import { ${name} } from './entities.js';\n\nexport const rows: ${name}[] = [\n`;
      return { type: 'text/plain', begins, line, ends: '];\n' };
    }
    default:
      throw new InvalidArgumentError(
        `"${format}" is no format of a file. There are ndjson, csv, parquet and ts.`,
      );
  }
}
