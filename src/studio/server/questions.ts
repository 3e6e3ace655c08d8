/** Questions as texts that were typed: they are read by the codecs of parts and columns, planned, and explained. */

import { fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, KeyError, QueryError, RowanError } from '../../errors.js';
import { BaseCodec, storedCodec, valueOfStored } from '../../key/index.js';
import type { KeyLayout, KeyPart } from '../../key/types.js';
import { type EntityQuery, parseKeyConditions } from '../../query/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import type { Condition, Json, PieceShown, Planned, Problem, Question } from './api.js';
import type { StudioDatabase } from './studio-database.js';
import { reason, shownPieces } from './values.js';

/** A query whose class is known only when it runs. */
export type AnyQuery = EntityQuery<KeyedClass, object>;

/** The repository of a class that is known only when it runs: conditions are held against its schema then. */
interface AnyRepository {
  readonly schema: EntitySchema;
  find(key: object, options: object): AnyQuery;
  by(index: string): { find(key: object, options: object): AnyQuery };
  asOf(time: number): AnyRepository;
}

const OPERATORS = ['gt', 'gte', 'lt', 'lte', 'startsWith', 'endsWith', 'in'];
const RANGES = ['gt', 'gte', 'lt', 'lte', 'startsWith', 'endsWith'];
/** The operators of conditions on columns. */
export const CONDITIONS = ['eq', 'ne', ...OPERATORS, 'contains', 'exists'];

/** @throws QueryError naming the entities that there are. */
export function repositoryOf(db: StudioDatabase, name: string): AnyRepository {
  const entity = db.schema.entities.find((each) => each.name === name);
  if (entity === undefined) {
    const known = db.schema.entities.map((each) => each.name).join(', ');
    throw new QueryError(
      `There is no entity "${name}". ${known === '' ? 'None is declared: give the module of the entities.' : `There are ${known}.`}`,
    );
  }
  return db.repository(entity.target as KeyedClass) as unknown as AnyRepository;
}

interface Codec {
  readonly name: string;
  encode(value: unknown): Uint8Array;
}

type Reading = (text: string) => unknown;

const ISO_TIME = /^([+-]\d{6}|\d{4})(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?$/;

/** A time of ISO 8601, of UTC unless it says otherwise, or milliseconds since 1970. `new Date` would make the year 2001 of "-1". */
function typedDate(text: string): unknown {
  if (/^-?\d{9,}$/.test(text)) return new Date(Number(text));
  const found = ISO_TIME.exec(text);
  if (found === null) return text;
  const [, , , , time, , , zone] = found;
  return new Date(time === undefined || zone !== undefined ? text : `${text}Z`);
}

const READINGS: readonly Reading[] = [
  (text) => text,
  (text) => (text.trim() === '' ? text : Number(text)),
  (text) => (text.trim() === '' ? text : BigInt(text)),
  typedDate,
  (text) => (text === 'true' ? true : text === 'false' ? false : text),
  (text) => fromStringBinary(text),
  (text) => JSON.parse(text),
];

/** {@link typed} of a part or column. @throws RowanError that names it, and says how its values are written. */
export function typedFor(name: string, codec: Codec, text: string): unknown {
  try {
    return typed(codec, text);
  } catch (cause) {
    if (!(cause instanceof RowanError)) throw cause;
    throw new RowanError(cause.code, `${name}: ${cause.message}${spellingOf(codec)}`, { cause });
  }
}

/** How the values of a codec are written as text, where that does not go without saying. */
function spellingOf(codec: Codec): string {
  return takes(codec, new Date(0))
    ? ' Write 2026-01-31T12:00:00Z, or milliseconds since 1970.'
    : takes(codec, new Uint8Array(1))
      ? ' Write bytes as HBase prints them: abc\\x00\\x01.'
      : '';
}

function takes(codec: Codec, value: unknown): boolean {
  try {
    storedCodec(codec).encode(value);
    return true;
  } catch {
    return false;
  }
}

/** The first value that the codec takes of a text, in its stored form. @throws what the codec says of the text itself. */
function typed(of: Codec, text: string): unknown {
  return valueOfStored(of, storedBy(storedCodec(of), text));
}

function storedBy(codec: Codec, text: string): unknown {
  for (const read of READINGS) {
    try {
      const value = read(text);
      codec.encode(value);
      return value;
    } catch {
      // Another reading may be right.
    }
  }
  codec.encode(text);
  return text;
}

function partOf(layout: Pick<KeyLayout, 'parts'>, name: string): KeyPart {
  const part = layout.parts.find((each) => each.name === name);
  if (part !== undefined) return part;
  throw new KeyError(
    `There is no part "${name}". There are ${layout.parts.map((each) => each.name).join(', ')}.`,
  );
}

type KeyInput = Record<string, unknown>;

/** The conditions on a key, as `find` takes them. Empty texts are not given. */
function keyInput(layout: Asked, key: Question['key'] = {}): KeyInput {
  const given: KeyInput = {};
  for (const [name, asked] of Object.entries(key)) {
    const part = partOf(layout, name);
    const isText = layout.substitutions.some((each) => each.part === name);
    const read = (text: string): unknown =>
      isText || !(part.codec instanceof BaseCodec) ? text : typedFor(name, part.codec, text);
    if (typeof asked === 'string') {
      if (asked !== '') given[name] = read(asked);
      continue;
    }
    const operators: KeyInput = {};
    for (const [operator, text] of Object.entries(asked)) {
      if (!OPERATORS.includes(operator)) throw unknownOperator(name, operator, OPERATORS);
      if (text === '') continue;
      if (operator === 'in') operators[operator] = text.split(',').map((each) => read(each.trim()));
      else operators[operator] = read(text);
    }
    if (Object.keys(operators).length > 0) given[name] = operators;
  }
  return given;
}

function whereInput(schema: EntitySchema, conditions: readonly Condition[]): object | undefined {
  if (conditions.length === 0) return undefined;
  const where: Record<string, Record<string, unknown>> = {};
  for (const { property, operator, value } of conditions) {
    const column = schema.columnsByProperty.get(property);
    if (column === undefined) {
      const names = [...schema.columnsByProperty.keys()].join(', ');
      throw new QueryError(`${schema.name} has no column "${property}". It has ${names}.`);
    }
    if (!CONDITIONS.includes(operator)) throw unknownOperator(property, operator, CONDITIONS);
    where[property] = { ...where[property], [operator]: conditionValue(column, operator, value) };
  }
  return where;
}

function unknownOperator(name: string, operator: string, known: readonly string[]): QueryError {
  return new QueryError(`${name}: unknown operator "${operator}". Give one of ${known.join(', ')}.`);
}

function conditionValue({ property, codec }: ColumnSchema, operator: string, value: string): unknown {
  if (operator === 'exists') {
    // The form asks whether there is a value, until something is typed.
    if (!['true', 'false', ''].includes(value))
      throw new QueryError(`${property}: exists is "${value}". Give true or false.`);
    return value !== 'false';
  }
  if (operator === 'in') return value.split(',').map((each) => typedFor(property, codec, each.trim()));
  return typedFor(property, codec, value);
}

/** A question that was read: its query, and what it was made of. */
export interface ReadQuestion {
  readonly schema: EntitySchema;
  readonly key: KeyInput;
  readonly where: object | undefined;
  readonly question: Question;
  readonly query: AnyQuery;
}

/** @throws KeyError, QueryError on what cannot be asked. */
export function readQuestion(
  db: StudioDatabase,
  entity: string,
  question: Question,
  signal?: AbortSignal,
): ReadQuestion {
  const repository = repositoryOf(db, entity);
  const { schema } = repository;
  const { index, reverse, asOf } = question;
  const layout = layoutOf(schema, index);
  const key = keyInput(layout, question.key);
  const where = whereInput(schema, question.where ?? []);
  const at = asOf === undefined ? repository : repository.asOf(asOf);
  // A page is bounded by its size and its time, so that a whole table may be paged through.
  const options = { fullScan: true, ...(signal !== undefined && { signal }) };
  let query = index === undefined ? at.find(key, options) : at.by(index).find(key, options);
  if (where !== undefined) query = query.where(where as never);
  if (reverse === true) query = query.reverse();
  return { schema, key, where, question, query };
}

/** The conditions that the key, or an index, can search. */
type Asked = Pick<KeyLayout, 'parts' | 'substitutions'>;

function layoutOf(schema: EntitySchema, name: string | undefined): Asked {
  if (name === undefined) return schema.key;
  const index = schema.indexes.find((each) => each.name === name);
  if (index === undefined) {
    const names = schema.indexes.map((each) => each.name).join(', ');
    throw new QueryError(
      `${schema.name} has no index "${name}". ${names === '' ? 'It has none.' : `It has ${names}.`}`,
    );
  }
  const { parts, substitutions } = index.layout;
  return { parts: parts.filter((part) => index.parts.includes(part.name)), substitutions };
}

/** Explains a question. Reads nothing; `problem` tells what cannot be asked. */
export function plan(db: StudioDatabase, entity: string, question: Question): Planned {
  const { schema } = repositoryOf(db, entity);
  const layout = layoutOf(schema, question.index);
  const refused = refusals(layout, question.key ?? {});
  try {
    const read = readQuestion(db, entity, question);
    const { limit } = question;
    const explanation = (limit === undefined ? read.query : read.query.limit(limit)).explain();
    return {
      pieces: question.index === undefined ? piecesOf(schema, read.key) : null,
      refused,
      explanation: JSON.parse(JSON.stringify(explanation)) as Json,
      text: String(explanation),
      code: codeOf(read),
      problem: null,
    };
  } catch (error) {
    return { pieces: null, refused, explanation: null, text: '', code: '', problem: problemOf(error) };
  }
}

export function problemOf(error: unknown): Problem {
  return { code: error instanceof RowanError ? error.code : 'ERR_STUDIO', message: reason(error) };
}

/** By part: why it cannot be asked, with what is asked of the parts before it. */
function refusals(
  layout: Pick<KeyLayout, 'parts'>,
  key: NonNullable<Question['key']>,
): Record<string, string> {
  const refused: Record<string, string> = {};
  let why: string | undefined;
  for (const { name } of layout.parts) {
    if (why !== undefined) refused[name] = why;
    if (why !== undefined) continue;
    const asked = key[name];
    const operators =
      typeof asked === 'object' ? Object.keys(asked).filter((each) => asked[each] !== '') : [];
    if (operators.some((operator) => RANGES.includes(operator)))
      why = `${name} before it is asked for with a range: what stands behind it is not in one order there.`;
    else if (operators.length === 0 && (asked === undefined || typeof asked === 'object' || asked === ''))
      why = `${name} before it is not given: keys are sorted by it first.`;
  }
  return refused;
}

/** The bytes that all keys of a question begin with, of a whole key all; of a salt that is open the first of its choices. */
function piecesOf(schema: EntitySchema, key: KeyInput): PieceShown[] | null {
  const { key: layout } = schema;
  if (Object.keys(key).length === 0 || layout.substitutions.length > 0) return null;
  const { leads, ranges, fanOut, kind } = layout.plan(parseKeyConditions(schema.name, layout, key));
  const bytes = kind === 'point' ? ranges[0]?.start : leads[0]?.bytes;
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    const pieces = shownPieces(bytes, layout.pieces(bytes), kind === 'point');
    if (fanOut === 1) return pieces;
    return pieces.map((piece) =>
      piece.kind === 'salt' || piece.kind === 'bucket'
        ? {
            ...piece,
            printed: '*',
            hex: '*',
            about: `${piece.about} It is open here: ${fanOut} ranges are read.`,
          }
        : piece,
    );
  } catch {
    // The keys begin with a part of an element only.
    return null;
  }
}

/** The query as TypeScript. */
function codeOf({ schema, key, where, question }: ReadQuestion): string {
  const { index, reverse, asOf, limit } = question;
  const steps = [
    `db.repository(${schema.target.name})`,
    ...(asOf === undefined ? [] : [`.asOf(new Date('${new Date(asOf).toISOString()}'))`]),
    ...(index === undefined ? [] : [`.by(${literal(index)})`]),
    `.find(${literal(key)}${Object.keys(key).length === 0 ? ', { fullScan: true }' : ''})`,
    ...(where === undefined ? [] : [`.where(${literal(where)})`]),
    ...(reverse === true ? ['.reverse()'] : []),
  ];
  const [first, ...others] = steps;
  const ending = limit === undefined ? '.page({ size: 100 })' : `.limit(${limit})\n  .all()`;
  return `const rows = await ${first}\n${others.map((step) => `  ${step}\n`).join('')}  ${ending};`;
}

/** A value as it is written in TypeScript. */
export function literal(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'")}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  if (value instanceof Uint8Array) return `Buffer.from('${Buffer.from(value).toString('hex')}', 'hex')`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (value instanceof Map) return `new Map(${literal([...value])})`;
  if (typeof value !== 'object' || value === null) return String(value);
  const kind = (value as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  if (typeof kind === 'string' && kind.startsWith('Temporal.'))
    return `${kind}.from(${literal(String(value))})`;
  const entries = Object.entries(value).map(([name, of]) => `${propertyName(name)}: ${literal(of)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

/** `__proto__` as it stands would set the prototype. */
function propertyName(name: string): string {
  if (name === '__proto__') return "['__proto__']";
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

/** The question in the text of a URL. @throws InvalidArgumentError on an invalid text. */
export function parseQuestion(text: string | null): Question {
  if (text === null || text === '') return {};
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (cause) {
    throw new InvalidArgumentError('The question is no JSON.', { cause });
  }
  if (!isQuestion(given))
    throw new InvalidArgumentError(
      'The question has other fields than key, where, index, reverse, asOf, limit.',
    );
  return given;
}

function isQuestion(given: unknown): given is Question {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const { key, where, index, reverse, asOf, limit, ...others } = given as Record<string, unknown>;
  const isTexts = (of: unknown): boolean =>
    typeof of === 'string' ||
    (typeof of === 'object' && of !== null && Object.values(of).every((each) => typeof each === 'string'));
  return (
    Object.keys(others).length === 0 &&
    (key === undefined || (typeof key === 'object' && key !== null && Object.values(key).every(isTexts))) &&
    (where === undefined ||
      (Array.isArray(where) && where.every((each) => isTexts(each) && typeof each === 'object'))) &&
    (index === undefined || typeof index === 'string') &&
    (reverse === undefined || typeof reverse === 'boolean') &&
    (asOf === undefined || (typeof asOf === 'number' && Number.isSafeInteger(asOf) && asOf >= 0)) &&
    (limit === undefined || (typeof limit === 'number' && Number.isSafeInteger(limit) && limit >= 1))
  );
}

/** The read of one row as TypeScript; empty where its key cannot be read back. */
export function codeOfKey(schema: EntitySchema, row: Uint8Array): string {
  const key = schema.key.decode(row);
  if (schema.key.parts.some(({ name }) => key[name] === undefined)) return '';
  return `const entity = await db.repository(${schema.target.name}).get(${literal(key)});`;
}
