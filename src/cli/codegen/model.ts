/**
 * The tables, keys and columns of a schema from which `rowan codegen` generates classes, independent of JavaScript. What
 * another language cannot do is refused here, or left out with a reason.
 */

import { type AvroCodec, type AvroSchema, codecKind } from '../../codec/index.js';
import { SchemaError } from '../../errors.js';
import { BaseCodec, keyFormat, type StepFormat } from '../../key/index.js';
import type { ColumnSchema, EntitySchema, Schema } from '../../schema/index.js';
import { isInstance } from '../../table/checks.js';

/** A codec as data. `flip` is the bits of the first byte that are inverted. */
export type CodecModel =
  | { readonly kind: 'text' | 'bytes' | 'json' | 'uint64' | 'bigint' | 'rawDecimal' | 'phoenixTimestamp' }
  | { readonly kind: 'ulid' }
  | { readonly kind: 'ksuid' }
  | { readonly kind: 'uuid' | 'ipv4' | 'ipv6' | 'cidr' | 'reverse' | 'reverseDomain' }
  | { readonly kind: 'fixedBytes' | 'fixedText'; readonly width: number; readonly pad: number }
  | {
      readonly kind: 'int' | 'long';
      readonly size: number;
      readonly min: bigint;
      readonly max: bigint;
      readonly flip: number;
    }
  | { readonly kind: 'geohash'; readonly digits: number }
  | { readonly kind: 'decimal'; readonly scale: number }
  | {
      readonly kind: 'double' | 'single';
      readonly form: 'ordered' | 'raw' | 'phoenix';
      readonly rounds: boolean;
    }
  | { readonly kind: 'boolean'; readonly yes: number }
  | { readonly kind: 'date'; readonly flip: number; readonly unsigned: boolean }
  | { readonly kind: 'reverseTime'; readonly as: 'date' | 'number'; readonly text: boolean }
  | { readonly kind: 'names'; readonly size: number; readonly ids: readonly (readonly [string, number])[] }
  | { readonly kind: 'members'; readonly size: number; readonly values: readonly number[] }
  | {
      readonly kind: 'digits';
      readonly width: number;
      readonly as: 'number' | 'bigint' | 'string';
      readonly reversed: boolean;
    }
  | { readonly kind: 'desc'; readonly inner: CodecModel }
  | { readonly kind: 'avro'; readonly schema: AvroSchema };

type HashSource = Extract<StepFormat, { kind: 'hash' }>['sources'][number];

/** A step of a key; codecs are models, and the ending of a field has its length or separator. */
export type StepModel =
  | Exclude<StepFormat, { kind: 'field' | 'hash' }>
  | (Omit<Extract<StepFormat, { kind: 'field' }>, 'codec'> & {
      readonly codec: CodecModel;
      /** The fixed length, or the byte that the value may not have because it separates; -1 for others. */
      readonly detail: number;
    })
  | (Omit<Extract<StepFormat, { kind: 'hash' }>, 'sources'> & {
      readonly sources: readonly (Omit<HashSource, 'codec'> & { readonly codec: CodecModel })[];
    });

export interface PartModel {
  readonly name: string;
  readonly codec: CodecModel;
  /** Whether `decodeKey` gives it. */
  readonly recoverable: boolean;
  /** The dictionary whose id stands in place of the text. */
  readonly dictionary: string | undefined;
}

export interface ColumnModel {
  /** The property; of an embedded object its path, joined by `_`. */
  readonly name: string;
  readonly kind: ColumnSchema['kind'];
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly codec: CodecModel;
  /** Of a Map: the codec of its keys. */
  readonly keyCodec: CodecModel | undefined;
  readonly window: ColumnSchema['window'];
}

export interface EntityModel {
  readonly name: string;
  readonly table: string;
  /** The signature of the key's layout. */
  readonly signature: string;
  readonly steps: readonly StepModel[];
  readonly parts: readonly PartModel[];
  readonly columns: readonly ColumnModel[];
  /** The part that holds the time bucket of packed columns. */
  readonly window: NonNullable<ColumnSchema['window']> | undefined;
  readonly marker: { readonly family: string; readonly qualifier: Uint8Array } | undefined;
  readonly version: number;
  /** Whether a row without a marker holds no entity. */
  readonly lifelong: boolean;
  /** What only Rowan does when it writes such a row; undefined if there is nothing. */
  readonly writtenBy: string | undefined;
}

/**
 * The models of entities.
 * @throws SchemaError naming each property that cannot be read by another program.
 */
export function entityModels(schema: Schema, entities: readonly EntitySchema[]): EntityModel[] {
  const problems: string[] = [];
  const models = entities.map((entity) => new EntityReader(schema, entity, problems).read());
  if (problems.length > 0) {
    throw new SchemaError(`No code can be generated: ${problems.join(' ')}`, problems);
  }
  return models;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The model of a codec that is refused. The error is reported at the end. */
const NONE: CodecModel = { kind: 'bytes' };

class EntityReader {
  constructor(
    private readonly schema: Schema,
    private readonly entity: EntitySchema,
    private readonly problems: string[],
  ) {}

  read(): EntityModel {
    const { entity } = this;
    const { key, marker, version, timeToLive } = entity;
    if (!NAME.test(entity.name)) {
      this.refuse(undefined, 'its name is no name of a class. Give @Entity({ name }) letters and digits.');
    }
    const columns = [...entity.columns]
      .sort((a, b) => a.order - b.order)
      .map((column) => this.columnOf(column));
    const parts = key.parts.map(({ name, codec, recoverable }) => ({
      name: this.named(name, name),
      codec: this.codecOf(name, codec),
      recoverable,
      dictionary: key.substitutions.find(({ part }) => part === name)?.dictionary,
    }));
    this.checkNames(columns);
    return {
      name: entity.name,
      table: entity.table.descriptor.name,
      signature: key.signature,
      steps: keyFormat(key)!.map((step) => this.stepOf(step)),
      parts,
      columns,
      window: columns.find(({ window }) => window !== undefined)?.window,
      marker: marker && { family: marker.family, qualifier: marker.qualifier },
      version,
      lifelong: timeToLive.lifelong,
      writtenBy: this.writtenBy(),
    };
  }

  private refuse(property: string | undefined, why: string): void {
    const where = property === undefined ? '' : `, property "${property}"`;
    this.problems.push(`Entity "${this.entity.name}"${where}: ${why}`);
  }

  private named(property: string, name: string): string {
    if (!NAME.test(name)) {
      this.refuse(
        property,
        'its name has characters that names in Java and Python lack. Rename the property.',
      );
    }
    return name;
  }

  private checkNames(columns: readonly ColumnModel[]): void {
    const seen = new Set<string>();
    for (const { name } of columns) {
      if (seen.has(name)) this.refuse(name, 'two properties have this name once paths are joined by "_".');
      seen.add(name);
    }
  }

  private columnOf(column: ColumnSchema): ColumnModel {
    const { property, path, kind, family, qualifier, codec, qualifierCodec, window } = column;
    if (column.was.length > 0) {
      this.refuse(
        property,
        'its values may stand in former places (@Was). Finish the move, and take the declaration away.',
      );
    }
    return {
      name: this.named(property, path.join('_')),
      kind,
      family,
      qualifier,
      codec: this.codecOf(property, codec),
      keyCodec: qualifierCodec && this.codecOf(property, qualifierCodec),
      window,
    };
  }

  private stepOf(step: StepFormat): StepModel {
    if (step.kind === 'hash') {
      const sources = step.sources.map((source) => ({
        ...source,
        codec: this.codecOf(source.name, source.codec),
      }));
      return { ...step, sources };
    }
    if (step.kind !== 'field') return step;
    const { codec, ending } = step;
    const separator = codec.framing === 'separated' ? codec.separator : -1;
    const detail = ending === 'length' ? codec.fixedLength! : separator;
    return { ...step, codec: this.codecOf(step.name, codec), detail };
  }

  private codecOf(property: string, codec: object & { readonly name: string }): CodecModel {
    // A program's own codec may have any name.
    const isOwn = isInstance(codec, BaseCodec) || codec.name === 'json' || codec.name === 'raw.decimal';
    const model = isAvro(codec)
      ? ({ kind: 'avro', schema: codec.schema } as const)
      : isOwn
        ? codecModel(codec.name)
        : undefined;
    if (model === undefined) {
      this.refuse(
        property,
        `its codec "${codec.name}" is the program's own. Use one of docs/columns.md, or choose other entities by --entity.`,
      );
    }
    return model ?? NONE;
  }

  /** Why no other program should write such rows. */
  private writtenBy(): string | undefined {
    const { entity, schema } = this;
    const copied = schema.entities.some(({ copies }) =>
      copies.some(({ target }) => target() === entity.target),
    );
    const { timeToLive } = entity;
    const lives = timeToLive.property !== undefined || timeToLive.milliseconds !== undefined;
    const duties: readonly (readonly [boolean, string])[] = [
      [entity.indexes.length > 0, 'writes its indexes'],
      [entity.summaries.length > 0, 'counts its summaries'],
      [entity.copies.length > 0 || copied, 'writes copies'],
      [entity.references.length > 0, 'checks its references'],
      [entity.mutual !== undefined, 'writes mirrors'],
      [entity.changesKept !== undefined, 'records its changes'],
      [entity.versionProperty !== undefined, 'counts its versions'],
      [lives, 'computes its times to live'],
      [entity.columns.some(({ kind }) => kind === 'versions'), 'writes its histories'],
      [!entity.key.deterministic, 'draws its salts'],
    ];
    const found = duties.filter(([is]) => is).map(([, what]) => what);
    return found.length === 0 ? undefined : found.join(', ');
  }
}

function isAvro(codec: { readonly name: string }): codec is AvroCodec<unknown> {
  return codec.name.startsWith('avro(') && 'schema' in codec && 'fingerprint' in codec;
}

const SIGN = 0x80;
const SAFE = 2n ** 53n - 1n;

const int = (size: number, min: number, max: number, flip = SIGN): CodecModel => ({
  kind: 'int',
  size,
  min: BigInt(min),
  max: BigInt(max),
  flip,
});
const long = (size: number, min: bigint, max: bigint, flip: number): CodecModel => ({
  kind: 'long',
  size,
  min,
  max,
  flip,
});
const signed = (bits: bigint): readonly [bigint, bigint] => [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
const float = (
  kind: 'double' | 'single',
  form: 'ordered' | 'raw' | 'phoenix',
  rounds = false,
): CodecModel => ({
  kind,
  form,
  rounds,
});
const date = (flip: number, unsigned = false): CodecModel => ({ kind: 'date', flip, unsigned });
const TEXT: CodecModel = { kind: 'text' };
const BYTES: CodecModel = { kind: 'bytes' };

/** The codecs without options. */
const PLAIN: Readonly<Record<string, CodecModel>> = {
  text: TEXT,
  'raw.string': TEXT,
  'kiji.string': TEXT,
  'phoenix.varchar': TEXT,
  bytes: BYTES,
  'raw.bytes': BYTES,
  'phoenix.varbinary': BYTES,
  json: { kind: 'json' },
  int8: int(1, -128, 127),
  int16: int(2, -32768, 32767),
  int32: int(4, -(2 ** 31), 2 ** 31 - 1),
  uint8: int(1, 0, 255, 0),
  uint16: int(2, 0, 65535, 0),
  uint32: long(4, 0n, 2n ** 32n - 1n, 0),
  int53: long(8, -SAFE, SAFE, SIGN),
  int64: long(8, ...signed(64n), SIGN),
  uint64: { kind: 'uint64' },
  counter: long(8, ...signed(64n), 0),
  'raw.int16': int(2, -32768, 32767, 0),
  'raw.int32': int(4, -(2 ** 31), 2 ** 31 - 1, 0),
  'raw.int53': long(8, -SAFE, SAFE, 0),
  'raw.int64': long(8, ...signed(64n), 0),
  'phoenix.unsignedTinyint': int(1, 0, 127, 0),
  'phoenix.unsignedSmallint': int(2, 0, 32767, 0),
  'phoenix.unsignedInt': int(4, 0, 2 ** 31 - 1, 0),
  'phoenix.unsignedLong': long(8, 0n, 2n ** 63n - 1n, 0),
  bigint: { kind: 'bigint' },
  'raw.decimal': { kind: 'rawDecimal' },
  float64: float('double', 'ordered'),
  float32: float('single', 'ordered'),
  float: float('single', 'ordered', true),
  'raw.float64': float('double', 'raw'),
  'raw.float32': float('single', 'raw'),
  'phoenix.double': float('double', 'phoenix'),
  'phoenix.float': float('single', 'phoenix'),
  boolean: { kind: 'boolean', yes: 1 },
  'raw.boolean': { kind: 'boolean', yes: 0xff },
  date: date(SIGN),
  'raw.date': date(0),
  'phoenix.unsignedDate': date(0, true),
  'phoenix.unsignedTime': date(0, true),
  'phoenix.timestamp': { kind: 'phoenixTimestamp' },
  uuid: { kind: 'uuid' },
  ulid: { kind: 'ulid' },
  ksuid: { kind: 'ksuid' },
  ipv4: { kind: 'ipv4' },
  ipv6: { kind: 'ipv6' },
  cidr: { kind: 'cidr' },
  'reverse(text)': { kind: 'reverse' },
  'reverseDomain(text)': { kind: 'reverseDomain' },
};

/** The model of one of Rowan's codecs by its name, which is frozen. */
export function codecModel(name: string): CodecModel | undefined {
  const plain = PLAIN[name];
  if (plain !== undefined) return plain;
  if (name.startsWith('raw.joined(')) return TEXT;
  const known = codecKind(name);
  if (known === undefined) return undefined;
  const { kind, inner, count } = known;
  const options = inner.slice(inner.indexOf(',') + 1);
  switch (kind) {
    case 'desc': {
      const codec = codecModel(inner);
      return codec && { kind: 'desc', inner: codec };
    }
    case 'fixedBytes':
      return { kind: 'fixedBytes', width: count, pad: inner.includes(',') ? Number(options) : -1 };
    case 'fixedString': {
      const pad = inner.includes(',') ? (JSON.parse(options) as string) : ' ';
      return { kind: 'fixedText', width: count, pad: pad.charCodeAt(0) };
    }
    case 'geohash':
      return { kind: 'geohash', digits: count };
    case 'decimal':
      return { kind: 'decimal', scale: count };
    case 'textNumber':
    case 'reverseDigits':
      return {
        kind: 'digits',
        width: count,
        as: inner.includes(',') ? (options as 'bigint' | 'string') : 'number',
        reversed: kind === 'reverseDigits',
      };
    case 'enumeration':
      return { kind: 'names', size: idSize(inner), ids: enumerationIds(inner) };
    case 'numericEnum':
      return { kind: 'members', size: idSize(inner), values: inner.split(';')[0]!.split(',').map(Number) };
    case 'reverseTimestamp':
      return {
        kind: 'reverseTime',
        as: inner.includes('number') ? 'number' : 'date',
        text: inner.includes('text'),
      };
    default: {
      const bytes = Number(/^id([1-8])$/.exec(kind)?.[1]);
      if (Number.isNaN(bytes)) return undefined;
      const max = 256n ** BigInt(bytes) - 1n;
      return long(bytes, 0n, max < SAFE ? max : SAFE, 0);
    }
  }
}

function idSize(inner: string): number {
  return inner.endsWith(';2') ? 2 : 1;
}

function enumerationIds(inner: string): [string, number][] {
  return [...inner.matchAll(/("(?:[^"\\]|\\.)*")=(\d+)/gs)].map(([, name, id]) => [
    JSON.parse(name!) as string,
    Number(id),
  ]);
}
