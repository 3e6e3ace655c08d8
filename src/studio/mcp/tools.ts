/** The tools of an assistant: each is a read of a database with limits, answered as plain values of JSON. */

import { fromStringBinary, toHex } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { Question, RowPage, RowShown } from '../server/api.js';
import { catalogOf, regionsOf, schemaReport } from '../server/catalog.js';
import { CONDITIONS, parseQuestion, plan, repositoryOf } from '../server/questions.js';
import { DEFAULT_LIMITS, type Limits, type PageRequest, RowReader } from '../server/rows.js';
import type { StudioDatabase } from '../server/studio-database.js';
import { shownPieces } from '../server/values.js';
import type { ArgumentSchema } from './arguments.js';

/** The limits of one call: less than those of the studio's page, since an assistant reads all of it. */
export const MCP_LIMITS: Limits = { rows: 100, bytes: 1 << 20, time: DEFAULT_LIMITS.time };

const ROWS = 20;

/** The schema of a tool's arguments. */
interface InputSchema extends ArgumentSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, ArgumentSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: InputSchema;
  /** Arguments are as `input` has them. @throws RowanError on what cannot be asked. */
  run(given: Given, signal: AbortSignal): Promise<unknown>;
}

/** Arguments of a call. */
export interface Given {
  readonly entity?: string;
  readonly table?: string;
  readonly row?: string;
  readonly key?: Readonly<Record<string, Scalar | Readonly<Record<string, Scalar>>>>;
  readonly where?: readonly {
    readonly property: string;
    readonly operator: string;
    readonly value: Scalar;
  }[];
  readonly index?: string;
  readonly reverse?: boolean;
  readonly asOf?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

type Scalar = string | number | boolean;

const text = (description: string): ArgumentSchema => ({ type: 'string', description });
const SCALARS = ['string', 'number', 'boolean'] as const;
const SCALAR: ArgumentSchema = {
  type: SCALARS,
  description:
    'Dates are ISO texts, bytes as HBase prints them, the values of "in" one text, parted by commas.',
};

const ENTITY = text('Name of an entity, as list_entities has it.');
const LIMIT: ArgumentSchema = {
  type: 'integer',
  minimum: 1,
  maximum: MCP_LIMITS.rows,
  description: `Rows at most. Default ${ROWS}, at most ${MCP_LIMITS.rows}.`,
};

const QUESTION: Readonly<Record<string, ArgumentSchema>> = {
  entity: ENTITY,
  key: {
    type: 'object',
    description:
      'Conditions on parts of the key, or of the index: { "customerId": "c1", "placedAt": { "gte": "2026-01-31" } }, by gte, ' +
      'lt, gt, lte, startsWith, endsWith, in. Parts are asked in their order; no part behind a range.',
    additionalProperties: { type: [...SCALARS, 'object'], additionalProperties: SCALAR },
  },
  where: {
    type: 'array',
    description:
      'Conditions on columns: [{ "property": "status", "operator": "eq", "value": "open" }]. Rows that do not meet them are ' +
      'read, too.',
    items: {
      type: 'object',
      properties: {
        property: { type: 'string' },
        operator: { enum: CONDITIONS },
        value: SCALAR,
      },
      required: ['property', 'operator', 'value'],
      additionalProperties: false,
    },
  },
  index: text('Name of the index to read through; "key" then has its parts.'),
  reverse: { type: 'boolean', description: 'From the end of the order. Default: false.' },
  asOf: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Reads what was stored at this time, in milliseconds since 1970.',
  },
};

function input(properties: InputSchema['properties'], ...required: string[]): InputSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The tools of a database. No one of them writes. */
export function toolsOf(db: StudioDatabase, place: string): Tool[] {
  const reader = new RowReader(db, MCP_LIMITS);
  return [
    {
      name: 'list_entities',
      description: 'The tables of the database, and the entities that are declared on them with their keys.',
      input: input({}),
      run: async () => {
        const { tables, entities } = await catalogOf(db, { place, writable: false, queriesFile: null });
        return {
          place,
          tables: tables.map(({ name, kind, entities: names }) => ({ name, kind, entities: names })),
          entities: entities.map(({ name, table, layout, indexes }) => ({
            name,
            table,
            key: layout,
            indexes: indexes.map((index) => index.name),
          })),
        };
      },
    },
    {
      name: 'describe_entity',
      description:
        'An entity: the elements and parts of its key in their order, columns with their codecs, indexes, summaries, ' +
        'copies, relations. With "row" what each byte of that key means.',
      input: input({ entity: ENTITY, row: text('A row as HBase prints it: \\x00\\x01abc.') }, 'entity'),
      run: async (given) => describe(db, place, textOf(given, 'entity'), given.row),
    },
    {
      name: 'explain_query',
      description:
        'What a query would read, without reading it: ranges of keys, fan-out, order, warnings, why a part cannot be ' +
        'asked, and the query as TypeScript.',
      input: input(QUESTION, 'entity'),
      run: async (given) => plan(db, textOf(given, 'entity'), questionOf(given)),
    },
    {
      name: 'query',
      description:
        'Rows of an entity that meet conditions, in the order of the key. Goes on behind the rows of an answer with its ' +
        '"cursor" and the same conditions; null is the end.',
      input: input({ ...QUESTION, limit: LIMIT, cursor: text('The cursor of the answer before.') }, 'entity'),
      run: async (given, signal) =>
        pageOf(await reader.entityPage(textOf(given, 'entity'), questionOf(given), requestOf(given, signal))),
    },
    {
      name: 'sample',
      description:
        'Rows from all over a table, some from the beginning of each region, with the entities whose keys they have.',
      input: input({ table: text('Name of a table, as list_entities has it.'), limit: LIMIT }, 'table'),
      run: (given, signal) => sample(db, reader, textOf(given, 'table'), given.limit ?? ROWS, signal),
    },
    {
      name: 'lint',
      description:
        'What the declarations smell of (hot keys, many versions, long names), how the tables differ from them, and the ' +
        "statements for HBase's shell.",
      input: input({}),
      run: () => schemaReport(db),
    },
    {
      name: 'size',
      description:
        'Bytes, files and regions of the tables, or of one with each of its regions; bytes and cells by family where ' +
        'the store counts them.',
      input: input({ table: text('Name of a table. Default: all, without their regions.') }),
      run: ({ table }) => sizes(db, place, table),
    },
  ];
}

function textOf(given: Given, name: 'entity' | 'table'): string {
  const value = given[name];
  if (value !== undefined) return value;
  throw new InvalidArgumentError(`The call says no "${name}".`);
}

/** The question of a call: its values as texts, which the codecs of parts and columns read. */
function questionOf({ key, where, index, reverse, asOf }: Given): Question {
  const texts = (of: Scalar | Readonly<Record<string, Scalar>>): string | Record<string, string> =>
    typeof of === 'object'
      ? Object.fromEntries(Object.entries(of).map(([operator, value]) => [operator, String(value)]))
      : String(of);
  return parseQuestion(
    JSON.stringify({
      key: key && Object.fromEntries(Object.entries(key).map(([part, of]) => [part, texts(of)])),
      where: where?.map((each) => ({ ...each, value: String(each.value) })),
      index,
      reverse,
      asOf,
    }),
  );
}

function requestOf({ limit, cursor }: Given, signal: AbortSignal): PageRequest {
  return { size: limit ?? ROWS, cursor: cursor ?? null, raw: false, signal };
}

async function describe(
  db: StudioDatabase,
  place: string,
  name: string,
  row: string | undefined,
): Promise<object> {
  const { key } = repositoryOf(db, name).schema;
  const { entities } = await catalogOf(db, { place, writable: false, queriesFile: null });
  const info = entities.find((each) => each.name === name)!;
  if (row === undefined) return info;
  const bytes = fromStringBinary(row);
  return { ...info, row: shownPieces(bytes, key.pieces(bytes)) };
}

/** A row without what only a page needs. */
function plainRow({ entity, printed, values, problem }: RowShown): object {
  const all = Object.entries(values);
  const cut = all.filter(([, value]) => value.cut === true).map(([name]) => name);
  return {
    entity,
    row: printed,
    values: Object.fromEntries(all.map(([name, { value }]) => [name, value])),
    ...(cut.length > 0 && { cut }),
    ...(problem !== undefined && { problem }),
  };
}

function pageOf({ rows, cursor }: RowPage): object {
  return { rows: rows.map(plainRow), cursor };
}

async function sample(
  db: StudioDatabase,
  reader: RowReader,
  table: string,
  limit: number,
  signal: AbortSignal,
): Promise<object> {
  const all = await regionsOf(db, table);
  const step = Math.max(1, all.length / limit);
  const regions = Array.from({ length: Math.min(all.length, limit) }, (_, at) => all[Math.floor(at * step)]!);
  const rows: RowShown[] = [];
  for (const [at, { start, end }] of regions.entries()) {
    const size = Math.ceil((limit - rows.length) / (regions.length - at));
    const stop = toHex(fromStringBinary(end));
    const page = await reader.tablePage(table, fromStringBinary(start), {
      size,
      cursor: null,
      raw: false,
      signal,
    });
    rows.push(...page.rows.filter(({ row }) => stop === '' || row < stop));
  }
  return { regions: all.length, rows: rows.map(plainRow) };
}

async function sizes(db: StudioDatabase, place: string, only: string | undefined): Promise<object> {
  const { tables } = await catalogOf(db, { place, writable: false, queriesFile: null });
  const wanted = tables.filter(({ name }) => only === undefined || name === only);
  if (only !== undefined && wanted.length === 0) {
    const known = tables.map(({ name }) => name).join(', ');
    throw new InvalidArgumentError(
      `There is no table "${only}". ${known === '' ? `${place} has no tables.` : `There are ${known}.`}`,
    );
  }
  const answers: object[] = [];
  for (const { name, kind, families } of wanted) {
    const regions = await regionsOf(db, name);
    const sum = (of: 'files' | 'fileBytes' | 'memstoreBytes'): number =>
      regions.reduce((total, region) => total + region[of], 0);
    answers.push({
      table: name,
      kind,
      fileBytes: sum('fileBytes'),
      memstoreBytes: sum('memstoreBytes'),
      files: sum('files'),
      regions: only === undefined ? regions.length : regions,
      families: families.map(({ name: family, compression, encoding, counted }) => ({
        name: family,
        compression,
        encoding,
        ...counted,
      })),
    });
  }
  return { tables: answers };
}
