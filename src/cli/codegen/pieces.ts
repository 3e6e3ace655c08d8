/** Code that a generated file has only if its tables use it, and names that differ from those of the file itself. */

import { GEOHASH_BITS, GEOHASH_DIGITS } from '../../key/codecs/geohash.js';
import { BASE_62, CROCKFORD, KSUID_BYTES, KSUID_DIGITS } from '../../key/codecs/ids.js';
import type { CodecModel, EntityModel, StepModel } from './model.js';

/** A piece of the generated file, and the names of others that it calls. */
interface Piece {
  readonly source: string;
  readonly needs?: readonly string[];
}

export type Pieces = Readonly<Record<string, Piece>>;

/** The sources of the pieces and of those that they need, in the order of their declaration. */
export function usedSources(pieces: Pieces, names: Iterable<string>): string {
  const used = new Set<string>();
  const use = (name: string): void => {
    if (used.has(name)) return;
    used.add(name);
    for (const needed of pieces[name]!.needs ?? []) use(needed);
  };
  for (const name of names) use(name);
  return Object.entries(pieces)
    .filter(([name]) => used.has(name))
    .map(([, { source }]) => source)
    .join('');
}

/** Every codec of the entities, also those inside of others. */
export function codecsOf(entities: readonly EntityModel[]): CodecModel[] {
  const outer = entities.flatMap(({ steps, columns }) => [
    ...steps.flatMap((step) =>
      step.kind === 'field'
        ? [step.codec]
        : step.kind === 'hash'
          ? step.sources.map(({ codec }) => codec)
          : [],
    ),
    ...columns.flatMap(({ codec, keyCodec }) => (keyCodec === undefined ? [codec] : [codec, keyCodec])),
  ]);
  const inner = (codec: CodecModel): CodecModel[] =>
    codec.kind === 'desc' ? [codec, ...inner(codec.inner)] : [codec];
  return outer.flatMap(inner);
}

/**
 * The arguments of `BaseText`, alike in both languages: the digits of a text, their number, the bytes that they stand for, and the bits
 * of the last byte after them.
 */
export function baseTextArguments(
  codec: Extract<CodecModel, { kind: 'ulid' | 'ksuid' | 'geohash' }>,
): string {
  const of = (digits: string, count: number, bytes: number, behind = 0): string =>
    `"${digits}", ${count}, ${bytes}, ${behind}`;
  if (codec.kind === 'ulid') return of(CROCKFORD, 26, 16);
  if (codec.kind === 'ksuid') return of(BASE_62, KSUID_DIGITS, KSUID_BYTES);
  const bits = GEOHASH_BITS * codec.digits;
  const bytes = Math.ceil(bits / 8);
  return of(GEOHASH_DIGITS, codec.digits, bytes, 8 * bytes - bits);
}

/** The kinds of steps of the entities. */
export function stepKinds(entities: readonly EntityModel[]): Set<StepModel['kind']> {
  return new Set(entities.flatMap(({ steps }) => steps.map(({ kind }) => kind)));
}

/** Whether a file needs MurmurHash3. */
export function usesMurmur(entities: readonly EntityModel[]): boolean {
  return entities.some(({ steps }) =>
    steps.some((step) => step.kind === 'salt' || (step.kind === 'hash' && step.algorithm === 'murmur3')),
  );
}

/** The name, followed by `_` if it means something else in the generated file. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`${name}_`, taken) : name;
}

/** A property of the generated class. */
export interface PropertyModel {
  /** As declared. */
  readonly name: string;
  /** Undefined for a key part. */
  readonly column: EntityModel['columns'][number] | undefined;
  readonly part: EntityModel['parts'][number] | undefined;
}

/** Key parts that a row gives, then columns. The part of packed columns is the start of the row's bucket. */
export function propertiesOf({ parts, columns, window }: EntityModel): PropertyModel[] {
  const stored = new Set(columns.map(({ name }) => name));
  return [
    ...parts
      .filter(({ name, recoverable }) => !stored.has(name) && (recoverable || window?.part === name))
      .map((part) => ({ name: part.name, part, column: undefined })),
    ...columns.map((column) => ({ name: column.name, column, part: undefined })),
  ];
}

/** The lines, with `indent` before each that is not empty. */
export function indented(text: string, indent: string): string {
  return text.replace(/^(?=.)/gm, indent);
}
