/** What a question finds as a file: NDJSON and CSV as `rowan entities` reads them, or a fixture of TypeScript. */

import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import { csvLine } from '../../job/files/line-files.js';
import type { EntitySchema } from '../../schema/types.js';
import { entityFormat, propertiesOf } from '../../tools/entity-formats.js';
import type { Question } from './api.js';
import { literal, readQuestion } from './questions.js';
import type { Limits } from './rows.js';

type Properties = Readonly<Record<string, unknown>>;

export interface ExportedFile {
  readonly type: string;
  readonly name: string;
  /** The file in pieces, each a page of rows. */
  readonly pieces: AsyncGenerator<string, void>;
}

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
 * @throws InvalidArgumentError for a format that is none; KeyError, QueryError on what cannot be asked. Its pieces throw at a
 *   row that cannot be decoded.
 */
export function exportedFile(
  db: Database,
  entity: string,
  question: Question,
  format: string,
  limits: Limits,
  signal: AbortSignal,
): ExportedFile {
  const { schema, query } = readQuestion(db, entity, question, signal);
  const text = textOf(schema, format);
  const pieces = async function* (): AsyncGenerator<string, void> {
    let piece = text.begins;
    let bytes = 0;
    let left = limits.rows;
    let cursor: string | undefined;
    do {
      const page = await query.page({
        size: Math.min(PAGE, left),
        ...(cursor !== undefined && { cursor }),
      });
      for (const item of page.items) piece += text.line(item as Properties);
      left -= page.items.length;
      cursor = page.cursor ?? undefined;
      bytes += piece.length;
      const goesOn = cursor !== undefined && left > 0 && bytes < limits.bytes;
      yield goesOn ? piece : piece + text.ends;
      if (!goesOn) return;
      piece = '';
    } while (cursor !== undefined);
  };
  const name = `${entity.replace(/[^\w.-]/g, '_')}.first-${limits.rows}.${format}`;
  return { type: text.type, name, pieces: pieces() };
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
      throw new InvalidArgumentError(`"${format}" is no format of a file. There are ndjson, csv and ts.`);
  }
}
