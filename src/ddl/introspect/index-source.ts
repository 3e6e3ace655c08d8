/** The TypeScript that declares the indexes of an entity, from what the metadata of its index table keeps of them. */

import type { StoredIndex } from '../../features/indexes/states.js';
import { placeOf, type StampedColumn } from '../stamp-format.js';
import { elementSource, elementsOf, quoted, type Source } from './source.js';

/** A column with the name that the module gives to its property. */
export interface NamedColumn extends StampedColumn {
  readonly declared: string;
}

/** The row behind the parts of an index that is not unique. */
const ROW_PART = /^\$row:/;
/** Codecs whose values are texts in conditions, too. */
const TEXTS = /^(text|enumeration|fixedString)\b/;

/** What an index is made by: `IndexSchema.signature`. */
interface IndexSignature {
  readonly parts: string;
  readonly unique: boolean;
  readonly included: readonly string[];
  readonly where: Readonly<Record<string, unknown>> | undefined;
  readonly each: string;
  readonly eventual: boolean;
}

/** `name: { on: […], … }`; undefined when what is kept of it does not tell how to declare it. */
export function indexSource(stored: StoredIndex, columns: readonly NamedColumn[]): Source | undefined {
  const signature = signatureOf(stored);
  if (signature === undefined) return undefined;
  const { parts, unique, included, where, each, eventual } = signature;
  const own = elementsOf(parts).filter((element) => !ROW_PART.test(element));
  const elements = own.map(elementSource);
  const include = included.map((place) => columnAt(columns, place)?.declared);
  const condition = where === undefined ? undefined : whereSource(where, columns);
  const isTold =
    elements.every((element) => element !== undefined) &&
    include.every((name) => name !== undefined) &&
    columns.every(({ property, declared }) => property === undefined || property === declared) &&
    (where === undefined || condition !== undefined);
  if (!isTold) return undefined;
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

/** `d:6e text`: the place, with the qualifier in hex, and the codec. */
function columnAt(columns: readonly NamedColumn[], text: string): NamedColumn | undefined {
  return columns.find((column) => text.startsWith(`${placeOf(column)} `));
}

/** A condition whose values are told by their texts: dates, bytes and large numbers are not. */
function whereSource(
  where: Readonly<Record<string, unknown>>,
  columns: readonly NamedColumn[],
): string | undefined {
  const isTold = Object.entries(where).every(([name, asked]) => {
    const column = columns.find(({ declared }) => declared === name);
    return column !== undefined && leavesOf(asked).every((value) => isPlain(value, column.codec));
  });
  return isTold ? JSON.stringify(where) : undefined;
}

function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}

function isPlain(value: unknown, codec: string): boolean {
  return typeof value !== 'string' || TEXTS.test(codec);
}
