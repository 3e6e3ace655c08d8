/** The indexes' part of the DDL: their steps in schema plans, and the TypeScript that declares them. */

import { toHex } from '../../bytes/index.js';
import { elementSource, elementsOf, quoted, type Source } from '../../ddl/introspect/source.js';
import type {
  IndexDdl,
  NamedColumn,
  SchemaState,
  SchemaStep,
  StoredIndex,
  StoredIndexes,
} from '../../ddl/plan/types.js';
import { placeOf } from '../../ddl/stamp-format.js';
import type { TableSchema } from '../../schema/types.js';
import { indexTableName } from './entry.js';
import { createdIndexes, readIndexes, undeclaredIndexes } from './states.js';

export const indexDdl: IndexDdl = {
  created: (table) => [indexTableName(table.descriptor.name), createdIndexes(table)],
  stored: readIndexes,
  steps: indexSteps,
  source: indexSource,
};

/** Plans builds of indexes that are declared but not built, and drops of stored ones that are not declared. */
function indexSteps(
  { descriptor, entities }: TableSchema,
  stored: StoredIndexes,
  state: SchemaState,
): SchemaStep[] {
  const table = descriptor.name;
  const declared = new Set(
    entities.flatMap(({ name, indexes }) => indexes.map((index) => `${name}.${index.name}`)),
  );
  const earlier = (entity: string, index: string): boolean =>
    [...stored.values()].some((one) => one.entity === entity && one.index === index);
  const builds = entities.flatMap((entity) =>
    entity.indexes
      .filter(({ id }) => stored.get(toHex(id))?.state !== 'active')
      .map((index): SchemaStep => {
        const option = `${entity.name}.${index.name}`;
        return {
          id: `build-index:${table}/${option}`,
          kind: 'build-index',
          class: 'online',
          why: buildReason(table, state, earlier(entity.name, index.name)),
          table,
          option,
          from: stored.get(toHex(index.id))?.state,
          to: 'active',
        };
      }),
  );
  const drops = undeclaredIndexes(entities, stored).map(
    ([id, { entity, index, state }]): SchemaStep => ({
      id: `drop-index:${table}/${entity}.${index}/${id}`,
      kind: 'drop-index',
      class: 'online',
      why: declared.has(`${entity}.${index}`)
        ? `The index "${index}" of ${entity} is declared otherwise than before, and built anew: its former entries are removed. No other data is lost.`
        : `The index "${index}" of ${entity} is no longer declared, so its entries are removed. No other data is lost: if it is declared again, it is rebuilt.`,
      table,
      option: id,
      from: state,
    }),
  );
  return [...builds, ...drops];
}

/** @param before whether the table has an index of this name, or had one. */
function buildReason(table: string, { tables, recorded }: SchemaState, before: boolean): string {
  const writers = 'every program that writes must declare it, or its rows would be missing in the index.';
  if (recorded !== true && !tables.has(table))
    return `The index is built with its table, which has no rows yet. Always ${writers}`;
  const why =
    recorded === true
      ? before
        ? 'The index is declared otherwise than before, as by another schemaVersion: it is built anew, and queries use it once that is done.'
        : 'The index is newly declared: queries use it once it is built.'
      : 'The index is declared but not built as it is declared, so queries do not use it yet.';
  return `${why} From then on ${writers}`;
}

/** The row key at the end of a non-unique index. */
const ROW_PART = /^\$row:/;
/** Codecs whose values are strings in conditions too. */
const TEXTS = /^(text|enumeration|fixedString)\b/;

/** The parsed `IndexSchema.signature`. */
interface IndexSignature {
  readonly parts: string;
  readonly unique: boolean;
  readonly included: readonly string[];
  readonly where: Readonly<Record<string, unknown>> | undefined;
  readonly each: string;
  readonly eventual: boolean;
}

/** Returns `name: { on: […], … }`; undefined if the metadata does not suffice. */
function indexSource(stored: StoredIndex, columns: readonly NamedColumn[]): Source | undefined {
  const signature = signatureOf(stored);
  if (signature === undefined) return undefined;
  const { parts, unique, included, where, each, eventual } = signature;
  const own = elementsOf(parts).filter((element) => !ROW_PART.test(element));
  const elements = own.map(elementSource);
  const include = included.map((place) => columnAt(columns, place)?.declared);
  const condition = where === undefined ? undefined : whereSource(where, columns);
  const isExpressible =
    elements.every((element) => element !== undefined) &&
    include.every((name) => name !== undefined) &&
    columns.every(({ property, declared }) => property === undefined || property === declared) &&
    (where === undefined || condition !== undefined);
  if (!isExpressible) return undefined;
  const options = [
    `on: [${elements.map((element) => element!.text).join(', ')}]`,
    ...(unique ? ['unique: true'] : []),
    ...(include.length === 0 ? [] : [`include: [${include.map((name) => quoted(name!)).join(', ')}]`]),
    ...(condition === undefined ? [] : [`where: ${condition}`]),
    ...(each === 'values' ? [] : [`each: ${quoted(each)}`]),
    ...(eventual ? ["consistency: 'eventual'"] : []),
  ];
  return {
    text: `${quoted(stored.index)}: { ${options.join(', ')} }`,
    uses: elements.flatMap((element) => element!.uses),
  };
}

function signatureOf({ signature }: StoredIndex): IndexSignature | undefined {
  let read: unknown;
  try {
    read = JSON.parse(signature);
  } catch {
    return undefined;
  }
  if (!Array.isArray(read) || read.length < 7) return undefined;
  const [, , parts, unique, included, where, each, ...rest] = read as unknown[];
  if (typeof parts !== 'string' || typeof each !== 'string' || !Array.isArray(included)) return undefined;
  const condition: unknown = typeof where === 'string' ? JSON.parse(where) : undefined;
  return {
    parts,
    unique: unique === true,
    included: included as string[],
    where: condition as IndexSignature['where'],
    each,
    eventual: rest.includes('eventual'),
  };
}

/** Finds the column of `d:6e text`: the place, with the qualifier in hex, and the codec. */
function columnAt(columns: readonly NamedColumn[], text: string): NamedColumn | undefined {
  return columns.find((column) => text.startsWith(`${placeOf(column)} `));
}

/** A condition whose values have a literal form: dates, bytes and large numbers do not. */
function whereSource(
  where: Readonly<Record<string, unknown>>,
  columns: readonly NamedColumn[],
): string | undefined {
  const isExpressible = Object.entries(where).every(([name, asked]) => {
    const column = columns.find(({ declared }) => declared === name);
    return column !== undefined && leavesOf(asked).every((value) => isPlain(value, column.codec));
  });
  return isExpressible ? JSON.stringify(where) : undefined;
}

function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}

function isPlain(value: unknown, codec: string): boolean {
  return typeof value !== 'string' || TEXTS.test(codec);
}
