/** Writes the Java file of `rowan codegen java`: a class for each entity, and the class `Rowan` with what they share. */

import { toHex } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { JAVA_CORE } from './java-cells.js';
import { JAVA_KEYS, JAVA_MODULO, JAVA_MURMUR, JAVA_STEPS } from './java-keys.js';
import { JAVA_TEXTS } from './java-texts.js';
import { JAVA_VALUES } from './java-values.js';
import type { CodecModel, ColumnModel, EntityModel, PartModel, StepModel } from './model.js';
import {
  baseTextArguments,
  codecsOf,
  freeName,
  indented,
  type PropertyModel,
  propertiesOf,
  stepKinds,
  usedSources,
  usesMurmur,
} from './pieces.js';

interface JavaOptions {
  /** The public class, whose name is that of the file. */
  readonly className: string;
  readonly packageName: string | undefined;
}

const WORDS = new Set(
  (
    'abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally ' +
    'float for goto if implements import instanceof int interface long native new null package private protected public return short ' +
    'static strictfp super switch synchronized this throw throws transient true try void volatile while _ var record yield'
  ).split(' '),
);

/** Classes that the file imports or names: an entity of one of these names gets another. */
const CLASSES = new Set(
  (
    'Rowan BigDecimal BigInteger RoundingMode ByteBuffer CharBuffer CharacterCodingException StandardCharsets MessageDigest ' +
    'NoSuchAlgorithmException Instant ArrayList Arrays Collections Comparator HashMap LinkedHashMap List Map NavigableMap TreeMap UUID ' +
    'ThreadLocalRandom String Object Integer Long Double Float Boolean Byte Math System StringBuilder Override SuppressWarnings ' +
    'IllegalArgumentException IllegalStateException ArithmeticException NumberFormatException'
  ).split(' '),
);

/** Names that no field of an entity can have. */
const MEMBERS = new Set([...WORDS, 'TABLE', 'KEY', 'PARTS']);

const IMPORTS = [
  'java.math.BigDecimal',
  'java.math.BigInteger',
  'java.math.RoundingMode',
  'java.nio.ByteBuffer',
  'java.nio.CharBuffer',
  'java.nio.charset.CharacterCodingException',
  'java.nio.charset.StandardCharsets',
  'java.security.MessageDigest',
  'java.security.NoSuchAlgorithmException',
  'java.time.Instant',
  'java.util.ArrayList',
  'java.util.Arrays',
  'java.util.Collections',
  'java.util.Comparator',
  'java.util.HashMap',
  'java.util.LinkedHashMap',
  'java.util.List',
  'java.util.Map',
  'java.util.NavigableMap',
  'java.util.TreeMap',
  'java.util.UUID',
  'java.util.concurrent.ThreadLocalRandom',
];

/** @throws InvalidArgumentError when the name of the class or the package is not valid in Java. */
export function javaSource(entities: readonly EntityModel[], options: JavaOptions): string {
  const { className, packageName } = options;
  const isName = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name) && !WORDS.has(name);
  if (!isName(className))
    throw new InvalidArgumentError(`--class: "${className}" is no name of a class in Java.`);
  if (packageName !== undefined && !packageName.split('.').every(isName)) {
    throw new InvalidArgumentError(`--package: "${packageName}" is no name of a package in Java.`);
  }
  const kinds = stepKinds(entities);
  const steps = [...kinds].flatMap((kind) => JAVA_STEPS[kind as keyof typeof JAVA_STEPS] ?? []);
  const packed = entities.some(({ window }) => window !== undefined) ? ['Offset'] : [];
  const codecs = usedSources({ ...JAVA_TEXTS, ...JAVA_VALUES }, [
    ...codecsOf(entities).map(codecPiece),
    ...packed,
  ]);
  const shared = [
    JAVA_CORE,
    JAVA_KEYS,
    ...steps,
    ...(kinds.has('bucket') || kinds.has('hash') ? [JAVA_MODULO] : []),
    ...(usesMurmur(entities) ? [JAVA_MURMUR] : []),
    codecs,
  ].join('');
  const taken = new Set([...CLASSES, className]);
  const classes = entities.map((entity) => entityClass(entity, freeName(entity.name, taken))).join('\n');
  const imports = IMPORTS.filter((name) =>
    new RegExp(`\\b${name.split('.').at(-1)}\\b`).test(shared + classes),
  );
  return `// Made by "rowan codegen java". Do not edit: change the entities, and make it anew.

${packageName === undefined ? '' : `package ${packageName};\n\n`}${imports.map((name) => `import ${name};\n`).join('')}
/** Keys and cells of the entities of a module, as Rowan stores them. */
public final class ${className} {
  private ${className}() {}

${classes}
  /** What the classes of the entities share. */
  public static final class Rowan {
    private Rowan() {}
${shared}  }
}
`;
}

function codecPiece(codec: CodecModel): string {
  return /new Rowan\.(\w+)/
    .exec(codecSource(codec))![1]!
    .replace(/^(?:Int|Long)Number$/, 'Whole')
    .replace(/^(?:Text|Big|Long)Digits$/, 'Digits')
    .replace('ReverseMillis', 'ReverseTime');
}

/** The expression that makes a codec. */
function codecSource(codec: CodecModel): string {
  return `new Rowan.${codecCall(codec)}`;
}

function codecCall(codec: CodecModel): string {
  switch (codec.kind) {
    case 'text':
    case 'json':
      return 'Text()';
    case 'bytes':
    case 'avro':
      return 'Binary()';
    case 'fixedBytes':
      return `FixedBinary(${codec.width}, ${codec.pad})`;
    case 'fixedText':
      return `FixedText(${codec.width}, ${codec.pad})`;
    case 'int':
      return `IntNumber(${codec.size}, ${codec.min}, ${codec.max}, ${codec.flip})`;
    case 'long':
      return `LongNumber(${codec.size}, ${longLiteral(codec.min)}, ${longLiteral(codec.max)}, ${codec.flip})`;
    case 'uint64':
      return 'UnsignedLong()';
    case 'bigint':
      return 'BigNumber()';
    case 'decimal':
      return `Decimal(${codec.scale})`;
    case 'rawDecimal':
      return 'RawDecimal()';
    case 'double':
    case 'single': {
      const name = codec.kind === 'double' ? 'DoubleFloat' : 'SingleFloat';
      return `${name}(${codec.form === 'raw'}, ${codec.form === 'phoenix' ? 1 : 0})`;
    }
    case 'boolean':
      return `Flag(${codec.yes})`;
    case 'date':
      return `Date(${codec.flip}, ${codec.unsigned})`;
    case 'phoenixTimestamp':
      return 'PhoenixTimestamp()';
    case 'reverseTime':
      return `${codec.as === 'date' ? 'ReverseTime' : 'ReverseMillis'}(${codec.text})`;
    case 'uuid':
      return 'Uuid()';
    case 'ulid':
    case 'ksuid':
    case 'geohash':
      return `BaseText(${baseTextArguments(codec)})`;
    case 'ipv4':
    case 'ipv6':
    case 'cidr': {
      const kind = { ipv4: 'V4', ipv6: 'V6', cidr: 'NETWORK' }[codec.kind];
      return `Address(Rowan.Address.Kind.${kind})`;
    }
    case 'names':
      return `Names(${codec.size})${codec.ids.map(([name, id]) => `.with(${javaText(name)}, ${id})`).join('')}`;
    case 'members':
      return `Members(${[codec.size, ...codec.values].join(', ')})`;
    case 'digits': {
      const name = { number: 'LongDigits', bigint: 'BigDigits', string: 'TextDigits' }[codec.as];
      return `${name}(${codec.width}, ${codec.reversed})`;
    }
    case 'reverse':
      return 'Reverse()';
    case 'reverseDomain':
      return 'ReverseDomain()';
    case 'desc':
      return `Desc<${javaType(codec)}>(${codecSource(codec.inner)})`;
  }
}

const TYPES: Readonly<Record<Exclude<CodecModel['kind'], 'digits' | 'reverseTime' | 'desc'>, string>> = {
  text: 'String',
  json: 'String',
  bytes: 'byte[]',
  avro: 'byte[]',
  fixedBytes: 'byte[]',
  fixedText: 'String',
  int: 'Integer',
  long: 'Long',
  uint64: 'BigInteger',
  bigint: 'BigInteger',
  decimal: 'BigDecimal',
  rawDecimal: 'BigDecimal',
  double: 'Double',
  single: 'Float',
  boolean: 'Boolean',
  date: 'Instant',
  phoenixTimestamp: 'Instant',
  uuid: 'UUID',
  ulid: 'String',
  ksuid: 'String',
  geohash: 'String',
  ipv4: 'String',
  ipv6: 'String',
  cidr: 'String',
  names: 'String',
  members: 'Integer',
  reverse: 'String',
  reverseDomain: 'String',
};

function javaType(codec: CodecModel): string {
  switch (codec.kind) {
    case 'digits':
      return { number: 'Long', bigint: 'BigInteger', string: 'String' }[codec.as];
    case 'reverseTime':
      return codec.as === 'date' ? 'Instant' : 'Long';
    case 'desc':
      return javaType(codec.inner);
    default:
      return TYPES[codec.kind];
  }
}

function longLiteral(value: bigint): string {
  return value === -(2n ** 63n) ? 'Long.MIN_VALUE' : `${value}L`;
}

/** A literal in ASCII. Java reads an escaped line feed as the end of a line, so control characters are octal. */
function javaText(text: string): string {
  const escaped = text.replace(/[^ !#-[\]-~]/g, (unit) => {
    const code = unit.charCodeAt(0);
    if (unit === '"' || unit === '\\') return `\\${unit}`;
    return code < 0x20
      ? `\\${code.toString(8).padStart(3, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

function bytesSource(bytes: Uint8Array): string {
  return `Rowan.hex("${toHex(bytes)}")`;
}

function stepSource(step: StepModel): string {
  switch (step.kind) {
    case 'constant':
      return `new Rowan.Constant(${bytesSource(step.bytes)})`;
    case 'field': {
      const { name, codec, ending, detail, inverted } = step;
      return `new Rowan.Field<>("${name}", ${codecSource(codec)}, Rowan.Ending.${ending.toUpperCase()}, ${detail}, ${inverted})`;
    }
    case 'hash': {
      const sources = step.sources.map(
        ({ name, codec, ended }) => `new Rowan.Source<>("${name}", ${codecSource(codec)}, ${ended})`,
      );
      return `new Rowan.Hash("${DIGESTS[step.algorithm]}", ${step.bytes}, ${step.hex}, ${step.modulo ?? 0}, ${sources.join(', ')})`;
    }
    case 'salt': {
      const prefixes = step.prefixes && `new byte[][] {${step.prefixes.map(bytesSource).join(', ')}}`;
      const runs =
        step.runs && `new int[][] {${step.runs.map(([from, to]) => `{${from}, ${to}}`).join(', ')}}`;
      return `new Rowan.Salt(${step.buckets}, ${prefixes ?? 'null'}, ${runs ?? 'null'}, ${step.random})`;
    }
    case 'bucket':
      return `new Rowan.Bucket("${step.part}", ${step.buckets})`;
    case 'timeBucket':
      return `new Rowan.TimeBucket("${step.name}", ${step.span}L, ${step.width}, ${step.inverted})`;
  }
}

const DIGESTS = { md5: 'MD5', sha1: 'SHA-1', sha256: 'SHA-256', murmur3: 'murmur3' } as const;

function entityClass(entity: EntityModel, className: string): string {
  const { steps, parts, writtenBy } = entity;
  const properties = propertiesOf(entity);
  const names = parts.map(({ name }) => `"${name}"`).join(', ');
  const members = [
    `public static final String TABLE = ${javaText(entity.table)};`,
    `private static final String[] PARTS = {${names}};`,
    `private static final Rowan.Key KEY = new Rowan.Key(\n    ${steps.map(stepSource).join(',\n    ')});`,
    properties.map(fieldSource).join('\n'),
    columnsClass(entity),
    keyMethods(entity, className, properties),
    decodeMethod(entity, className),
    writtenBy === undefined ? encodeMethod(entity) : '',
  ];
  const writes =
    writtenBy === undefined ? '' : `\n * Without encodeCells: Rowan ${writtenBy} when it writes such a row.`;
  return indented(
    `/**
 * The entity ${entity.name} of the table ${entity.table}. Its key: ${commented(entity.signature)}${writes}
 */
public static final class ${className} {
${indented(members.filter((source) => source !== '').join('\n\n'), '  ')}
}
`,
    '  ',
  );
}

/** Text for a comment: Java reads escapes of characters in comments, too. */
function commented(text: string): string {
  return text.replaceAll('*/', '* /').replace(/[^ -~]|\\/g, '?');
}

const fieldName = (name: string): string => freeName(name, MEMBERS);

function propertyType({ part, column }: PropertyModel, windowed = false): string {
  if (column === undefined) return windowed ? 'Instant' : javaType(part!.codec);
  return columnType(column);
}

function columnType({ kind, codec, keyCodec, window }: ColumnModel): string {
  const type = javaType(codec);
  if (kind === 'columns') return `Map<${window === undefined ? javaType(keyCodec!) : 'Instant'}, ${type}>`;
  return kind === 'versions' ? `NavigableMap<Long, ${type}>` : type;
}

function fieldSource(property: PropertyModel): string {
  const { name, part, column } = property;
  const about =
    part?.dictionary !== undefined
      ? `/** The number of the text in the dictionary ${part.dictionary}. */\n`
      : column?.kind === 'versions'
        ? '/** By timestamp, the newest first. */\n'
        : column?.codec.kind === 'json'
          ? '/** JSON. */\n'
          : column?.codec.kind === 'avro'
            ? `/** Avro, single-object encoding, of the schema Schemas.${fieldName(name)}. */\n`
            : '';
  return `${about}public ${propertyType(property)} ${fieldName(name)};`;
}

function columnsClass({ columns }: EntityModel): string {
  if (columns.length === 0) return '';
  const constants = columns.map(({ name, family, qualifier, codec }) => {
    const type = javaType(codec);
    return `public static final Rowan.Column<${type}> ${fieldName(name)} = new Rowan.Column<>(${javaText(family)}, ${bytesSource(qualifier)}, ${codecSource(codec)});`;
  });
  const schemas = columns.flatMap(({ name, codec }) =>
    codec.kind === 'avro'
      ? [`public static final String ${fieldName(name)} = ${javaText(JSON.stringify(codec.schema))};`]
      : [],
  );
  const avro =
    schemas.length === 0
      ? ''
      : `\n\n/** The schemas of Avro columns. */\npublic static final class Schemas {\n${indented(schemas.join('\n'), '  ')}\n}`;
  return `/** The columns, for conditions and changes of single cells. */
public static final class Columns {
${indented(constants.join('\n'), '  ')}
}${avro}`;
}

function keyMethods(entity: EntityModel, className: string, properties: readonly PropertyModel[]): string {
  const { parts, window } = entity;
  const listed = (some: readonly PartModel[]): string =>
    some.map(({ name, codec }) => `${javaType(codec)} ${fieldName(name)}`).join(', ');
  const given = (some: readonly PartModel[]): string =>
    ['PARTS', ...some.map(({ name }) => fieldName(name))].join(', ');
  const own = new Set(properties.map(({ name }) => name));
  const assigned = properties.flatMap(({ name, part }) => {
    if (part === undefined) return [];
    const key = window?.part === name ? `${name}/${window.width}` : name;
    return [`found.${fieldName(name)} = (${javaType(part.codec)}) parts.get("${key}");`];
  });
  const methods = [
    `/** The row key. @throws Rowan.CodecException on a value that is null or cannot be stored. */
public static byte[] encodeKey(${listed(parts)}) {
  return KEY.encode(Rowan.parts(${given(parts)}));
}`,
    ...(parts.every(({ name }) => own.has(name))
      ? [
          `/** The row key of this entity. */
public byte[] encodeKey() {
  return encodeKey(${parts.map(({ name }) => `this.${fieldName(name)}`).join(', ')});
}`,
        ]
      : []),
    `/** Whether a row of the table is one of this entity. */
public static boolean matchesKey(byte[] row) {
  return KEY.matches(row);
}`,
    `/** An entity with the parts that the row key holds whole. @throws Rowan.CodecException on a row of another layout. */
public static ${className} decodeKey(byte[] row) {
  ${assigned.length === 0 ? '' : 'Map<String, Object> parts = '}KEY.decode(row);
  ${className} found = new ${className}();
${indented(assigned.join('\n'), '  ')}${assigned.length === 0 ? '' : '\n'}  return found;
}`,
    ...parts.map((_, count) => rangesMethod(parts.slice(0, count), listed, given)),
    rangesMethod(parts, listed, given),
  ];
  return methods.join('\n\n');
}

function rangesMethod(
  some: readonly PartModel[],
  listed: (some: readonly PartModel[]) => string,
  given: (some: readonly PartModel[]) => string,
): string {
  const what = some.length === 0 ? 'all entities' : 'the entities with these parts';
  return `/** The ranges of rows that hold ${what}, in byte order: one for each salt. Other rows may stand in them: matchesKey tells. */
public static List<Rowan.KeyRange> keyRanges(${listed(some)}) {
  return KEY.ranges(Rowan.parts(${given(some)}));
}`;
}

function decodeMethod(entity: EntityModel, className: string): string {
  const { marker, version, lifelong, columns } = entity;
  const markerBytes = marker === undefined ? 'null' : bytesSource(marker.qualifier);
  const reads = columns.map((column) => {
    const { name, kind, family, keyCodec, window } = column;
    const place = `found.${fieldName(name)}`;
    const at = `Columns.${fieldName(name)}`;
    if (kind === 'versions') return `${place} = cells.history(${at}, "${name}");`;
    if (kind !== 'columns') return `${place} = cells.value(${at}, "${name}");`;
    const keys =
      window === undefined ? codecSource(keyCodec!) : offsetSource(column, `found.${fieldName(window.part)}`);
    const hidden = marker?.family === family ? markerBytes : 'null';
    return `${place} = cells.entries(${at}, ${keys}, ${hidden}, "${name}");`;
  });
  return `/**
 * The entity in a row; null if the row holds none. @throws Rowan.CodecException on a row of another layout, and on bytes
 * that are no values of the columns.
 */
public static ${className} decode(byte[] row, Rowan.Cells cells) {
  if (!cells.hold(${marker === undefined ? 'null' : javaText(marker.family)}, ${markerBytes}, ${version}, ${lifelong})) return null;
  ${className} found = decodeKey(row);
${indented(reads.join('\n'), '  ')}${reads.length === 0 ? '' : '\n'}  return found;
}`;
}

function encodeMethod({ marker, version, columns }: EntityModel): string {
  const writes = columns.map((column) => {
    const { name, kind, keyCodec, window } = column;
    const at = `Columns.${fieldName(name)}`;
    if (kind !== 'columns') return `Rowan.put(values, ${at}, this.${fieldName(name)});`;
    const keys =
      window === undefined
        ? codecSource(keyCodec!)
        : offsetSource(
            column,
            `Instant.ofEpochMilli(Rowan.bucketStart(this.${fieldName(window.part)}, ${window.width}L))`,
          );
    return `Rowan.putAll(values, ${at}, ${keys}, this.${fieldName(name)});`;
  });
  const marked =
    marker === undefined
      ? []
      : [
          `Rowan.put(values, ${javaText(marker.family)}, ${bytesSource(marker.qualifier)}, new byte[] {(byte) ${version}});`,
        ];
  return `/** The cells of the entity by family and qualifier, with its marker and without properties that are null. */
public NavigableMap<byte[], NavigableMap<byte[], byte[]>> encodeCells() {
  NavigableMap<byte[], NavigableMap<byte[], byte[]>> values = Rowan.values();
${indented([...marked, ...writes].join('\n'), '  ')}
  return values;
}`;
}

/** The codec of the qualifiers of packed columns in the bucket that starts at `start`. */
function offsetSource({ keyCodec, window }: ColumnModel, start: string): string {
  const size = keyCodec!.kind === 'int' ? 2 : 4;
  return `new Rowan.Offset(${start}, ${window!.unit}L, ${window!.width}L, ${size})`;
}
