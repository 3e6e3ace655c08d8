import { toHex } from '../../bytes/index.js';
import type { CodecModel, ColumnModel, EntityModel, StepModel } from './model.js';
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
import { PYTHON_CORE, PYTHON_MURMUR, PYTHON_STEPS } from './python-core.js';
import { PYTHON_TEXTS } from './python-texts.js';
import { PYTHON_VALUES } from './python-values.js';

const WORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Names that the file itself has: an entity of one of these names gets another. */
const CLASSES = new Set([
  ...WORDS,
  ...(
    'CodecError Codec Column KeyRange NamedTuple Optional ClassVar List Dict Tuple Any dataclass field datetime timedelta timezone decimal ' +
    'hashlib ipaddress json secrets struct uuid bytes bytearray str int float bool dict list set tuple abs all any divmod isinstance len map ' +
    'max range reversed sorted super zip classmethod NotImplementedError ValueError TypeError OverflowError UnicodeEncodeError UnicodeDecodeError'
  ).split(' '),
]);

/** The names that a class of an entity has besides its properties. */
const MEMBERS = new Set([
  ...WORDS,
  ...'TABLE PARTS COLUMNS SCHEMAS encode_key key matches_key decode_key key_ranges decode encode_cells'.split(
    ' ',
  ),
  ...'self cls row cells found values datetime decimal uuid field bytes str int float bool Dict Any Optional ClassVar'.split(
    ' ',
  ),
]);

const MODULES = ['decimal', 'hashlib', 'ipaddress', 'json', 'secrets', 'struct', 'uuid'];

/** Writes the Python file of `rowan codegen python`: what the entities share, then a dataclass for each. */
export function pythonSource(entities: readonly EntityModel[]): string {
  const steps = [...stepKinds(entities)].flatMap(
    (kind) => PYTHON_STEPS[kind as keyof typeof PYTHON_STEPS] ?? [],
  );
  const decimals = codecsOf(entities).some(({ kind }) => kind === 'decimal' || kind === 'rawDecimal');
  const codecs = usedSources({ ...PYTHON_TEXTS, ...PYTHON_VALUES }, [
    ...codecsOf(entities).map((codec) => /^_(\w+)/.exec(codecSource(codec))![1]!),
    ...(decimals ? ['DecimalParts'] : []),
    ...(entities.some(({ window }) => window !== undefined) ? ['Offset'] : []),
  ]);
  const shared = [PYTHON_CORE, ...steps, ...(usesMurmur(entities) ? [PYTHON_MURMUR] : []), codecs].join('');
  const classes = entities.map((entity) => entityClass(entity, freeName(entity.name, CLASSES))).join('\n\n');
  const imports = MODULES.filter((name) => new RegExp(`\\b${name}\\.`).test(shared));
  return `# Made by "rowan codegen python". Do not edit: change the entities, and make it anew.
"""Keys and cells of the entities of a module, as Rowan stores them."""

from __future__ import annotations

${imports.map((name) => `import ${name}\n`).join('')}from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar, Dict, List, NamedTuple, Optional

${shared}

${classes}`;
}

/** The expression that makes a codec. */
function codecSource(codec: CodecModel): string {
  switch (codec.kind) {
    case 'text':
      return '_Text()';
    case 'json':
      return '_Json()';
    case 'bytes':
    case 'avro':
      return '_Binary()';
    case 'fixedBytes':
      return `_FixedBinary(${codec.width}, ${codec.pad})`;
    case 'fixedText':
      return `_FixedText(${codec.width}, ${codec.pad})`;
    case 'int':
    case 'long':
      return `_Number(${codec.size}, ${codec.min}, ${codec.max}, ${codec.flip})`;
    case 'uint64':
      return `_Number(8, 0, ${2n ** 64n - 1n}, 0)`;
    case 'bigint':
      return '_BigNumber()';
    case 'decimal':
      return `_Decimal(${codec.scale})`;
    case 'rawDecimal':
      return '_RawDecimal()';
    case 'double':
    case 'single': {
      const form = codec.kind === 'double' ? 'd' : 'f';
      const added = codec.form === 'phoenix' ? 1 : 0;
      return `_Float("${form}", ${pythonBool(codec.form === 'raw')}, ${added}, ${pythonBool(codec.rounds)})`;
    }
    case 'boolean':
      return `_Flag(${codec.yes})`;
    case 'date':
      return `_Date(${codec.flip}, ${pythonBool(codec.unsigned)})`;
    case 'phoenixTimestamp':
      return '_Date(128, False, bytes(4))';
    case 'reverseTime':
      return `_ReverseTime(${pythonBool(codec.as === 'date')}, ${pythonBool(codec.text)})`;
    case 'uuid':
      return '_Uuid()';
    case 'ulid':
    case 'ksuid':
    case 'geohash':
      return `_BaseText(${baseTextArguments(codec)})`;
    case 'ipv4':
    case 'ipv6':
    case 'cidr':
      return `_Address(${{ ipv4: 4, ipv6: 6, cidr: 0 }[codec.kind]})`;
    case 'names':
      return `_Names(${codec.size}, {${codec.ids.map(([name, id]) => `${pythonText(name)}: ${id}`).join(', ')}})`;
    case 'members':
      return `_Names(${codec.size}, {${codec.values.map((value) => `${value}: ${value}`).join(', ')}})`;
    case 'digits': {
      const most = {
        number: String(2n ** 53n - 1n),
        bigint: String(10n ** BigInt(codec.width) - 1n),
        string: 'None',
      };
      return `_Digits(${codec.width}, ${pythonBool(codec.reversed)}, ${most[codec.as]})`;
    }
    case 'reverse':
      return '_Reverse("")';
    case 'reverseDomain':
      return '_Reverse(".")';
    case 'desc':
      return `_Desc(${codecSource(codec.inner)})`;
  }
}

const TYPES: Readonly<Record<Exclude<CodecModel['kind'], 'digits' | 'reverseTime' | 'desc'>, string>> = {
  text: 'str',
  json: 'Any',
  bytes: 'bytes',
  avro: 'bytes',
  fixedBytes: 'bytes',
  fixedText: 'str',
  int: 'int',
  long: 'int',
  uint64: 'int',
  bigint: 'int',
  decimal: 'decimal.Decimal',
  rawDecimal: 'decimal.Decimal',
  double: 'float',
  single: 'float',
  boolean: 'bool',
  date: 'datetime',
  phoenixTimestamp: 'datetime',
  uuid: 'uuid.UUID',
  ulid: 'str',
  ksuid: 'str',
  geohash: 'str',
  ipv4: 'str',
  ipv6: 'str',
  cidr: 'str',
  names: 'str',
  members: 'int',
  reverse: 'str',
  reverseDomain: 'str',
};

function pythonType(codec: CodecModel): string {
  switch (codec.kind) {
    case 'digits':
      return codec.as === 'string' ? 'str' : 'int';
    case 'reverseTime':
      return codec.as === 'date' ? 'datetime' : 'int';
    case 'desc':
      return pythonType(codec.inner);
    default:
      return TYPES[codec.kind];
  }
}

const pythonBool = (value: boolean): string => (value ? 'True' : 'False');

/** A literal in ASCII. */
function pythonText(text: string): string {
  const escaped = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    const code = character.codePointAt(0)!;
    return code >= 0x20 && code < 0x7f ? character : `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${escaped.join('')}"`;
}

function bytesSource(bytes: Uint8Array): string {
  return `bytes.fromhex("${toHex(bytes)}")`;
}

function stepSource(step: StepModel): string {
  switch (step.kind) {
    case 'constant':
      return `_Constant(${bytesSource(step.bytes)})`;
    case 'field': {
      const { name, codec, ending, detail, inverted } = step;
      return `_Field("${name}", ${codecSource(codec)}, "${ending}", ${detail}, ${pythonBool(inverted)})`;
    }
    case 'hash': {
      const { algorithm, bytes, hex, modulo, sources } = step;
      const listed = sources.map(
        ({ name, codec, ended }) => `("${name}", ${codecSource(codec)}, ${pythonBool(ended)})`,
      );
      return `_Hash("${algorithm}", ${bytes}, ${pythonBool(hex)}, ${modulo ?? 0}, ${listed.join(', ')})`;
    }
    case 'salt': {
      const { buckets, prefixes, runs, random } = step;
      const salts =
        prefixes === undefined
          ? `[bytes([salt]) for salt in range(${buckets})]`
          : `[${prefixes.map(bytesSource).join(', ')}]`;
      const listed =
        runs === undefined ? 'None' : `[${runs.map(([from, to]) => `(${from}, ${to})`).join(', ')}]`;
      return `_Salt(${salts}, ${listed}, ${pythonBool(random)})`;
    }
    case 'bucket':
      return `_Bucket("${step.part}", ${step.buckets})`;
    case 'timeBucket':
      return `_TimeBucket("${step.name}", ${step.span}, ${step.width}, ${pythonBool(step.inverted)})`;
  }
}

const fieldName = (name: string): string => freeName(name, MEMBERS);

function entityClass(entity: EntityModel, className: string): string {
  const { steps, parts, columns, writtenBy } = entity;
  const properties = propertiesOf(entity);
  const constants = columns.map(({ name, family, qualifier, codec, keyCodec, window }) => {
    const keys = keyCodec === undefined || window !== undefined ? '' : `, ${codecSource(keyCodec)}`;
    return `    "${name}": Column(${pythonText(family)}, ${bytesSource(qualifier)}, ${codecSource(codec)}${keys}),\n`;
  });
  const schemas = columns.flatMap(({ name, codec }) =>
    codec.kind === 'avro' ? [`    "${name}": ${pythonText(JSON.stringify(codec.schema))},\n`] : [],
  );
  const writes =
    writtenBy === undefined ? '' : `\n\nWithout encode_cells: Rowan ${writtenBy} when it writes such a row.`;
  const members = [
    `"""${`The entity ${entity.name} of the table ${entity.table}. Its key: ${entity.signature}`.replace(/["\\]|[^ -~]/g, '?')}${writes}\n"""`,
    `TABLE: ClassVar[str] = ${pythonText(entity.table)}`,
    `PARTS: ClassVar[tuple] = (${parts.map(({ name }) => `"${name}",`).join(' ')})`,
    `_KEY: ClassVar[_Key] = _Key(\n${steps.map((step) => `    ${stepSource(step)},\n`).join('')})`,
    `COLUMNS: ClassVar[dict] = {\n${constants.join('')}}`,
    ...(schemas.length === 0 ? [] : [`SCHEMAS: ClassVar[dict] = {\n${schemas.join('')}}`]),
    properties.map(fieldSource).join('\n'),
    keyMethods(entity, className, properties),
    decodeMethod(entity, className),
    ...(writtenBy === undefined ? [encodeMethod(entity)] : []),
  ];
  return `@dataclass
class ${className}:
${indented(members.join('\n\n'), '    ')}
`;
}

function fieldSource({ name, part, column }: PropertyModel): string {
  const about =
    part?.dictionary !== undefined
      ? `# The number of the text in the dictionary ${part.dictionary}.\n`
      : column?.kind === 'versions'
        ? '# By timestamp, the newest first.\n'
        : column?.codec.kind === 'avro'
          ? `# Avro, single-object encoding, of the schema in SCHEMAS.\n`
          : '';
  const place = fieldName(name);
  const type = pythonType((column ?? part)!.codec);
  if (column?.kind === 'columns' || column?.kind === 'versions') {
    const key = column.kind === 'versions' ? 'int' : keyType(column);
    return `${about}${place}: Dict[${key}, ${type}] = field(default_factory=dict)`;
  }
  return `${about}${place}: Optional[${type}] = None`;
}

function keyType({ keyCodec, window }: ColumnModel): string {
  return window === undefined ? pythonType(keyCodec!) : 'datetime';
}

function keyMethods(entity: EntityModel, className: string, properties: readonly PropertyModel[]): string {
  const { parts, window } = entity;
  const typed = parts.map(({ name, codec }) => `, ${fieldName(name)}: ${pythonType(codec)}`).join('');
  const listed = parts
    .map(({ name }) => `${fieldName(name)}, `)
    .join('')
    .trimEnd();
  const own = new Set(properties.map(({ name }) => name));
  const assigned = properties
    .filter(({ part }) => part !== undefined)
    .map(({ name }) =>
      window?.part === name
        ? `found.${fieldName(name)} = _time(parts[("${name}", ${window.width})])\n`
        : `found.${fieldName(name)} = parts["${name}"]\n`,
    );
  const key = `def key(self) -> bytes:
    """The row key of this entity."""
    return self.encode_key(${parts.map(({ name }) => `self.${fieldName(name)}`).join(', ')})

`;
  return `@classmethod
def encode_key(cls${typed}) -> bytes:
    """The row key. Raises CodecError on a value that is None or cannot be stored."""
    return cls._KEY.encode(_parts(cls.PARTS, (${listed})))

${parts.every(({ name }) => own.has(name)) ? key : ''}@classmethod
def matches_key(cls, row: bytes) -> bool:
    """Whether a row of the table is one of this entity."""
    return cls._KEY.matches(row)

@classmethod
def decode_key(cls, row: bytes) -> ${className}:
    """An entity with the parts that the row key holds whole. Raises CodecError on a row of another layout."""
    ${assigned.length === 0 ? '' : 'parts = '}cls._KEY.decode(row)
    found = cls()
${indented(assigned.join(''), '    ')}    return found

@classmethod
def key_ranges(cls, *parts) -> List[KeyRange]:
    """The ranges of the rows with these values of leading parts, in byte order: one for each salt. Other rows may stand in
    them: matches_key tells."""
    if len(parts) > len(cls.PARTS):
        raise CodecError(f"{len(parts)} parts were given. The key has {', '.join(cls.PARTS)}.")
    return cls._KEY.ranges(_parts(cls.PARTS, parts))`;
}

function decodeMethod(
  { marker, version, lifelong, columns, window }: EntityModel,
  className: string,
): string {
  const markerSource =
    marker === undefined ? 'None' : `(${pythonText(marker.family)}, ${bytesSource(marker.qualifier)})`;
  const reads = columns.map((column) => {
    const place = `found.${fieldName(column.name)}`;
    const at = `cls.COLUMNS["${column.name}"]`;
    if (column.kind === 'versions') return `${place} = cells.history(${at}, "${column.name}")\n`;
    if (column.kind !== 'columns') return `${place} = cells.value(${at}, "${column.name}")\n`;
    const keys =
      window === undefined || column.window === undefined
        ? `${at}.keys`
        : offsetSource(column, `_millis(found.${fieldName(window.part)})`);
    return `${place} = cells.entries(${at}, ${keys}, ${markerSource}, "${column.name}")\n`;
  });
  return `@classmethod
def decode(cls, row: bytes, cells: dict) -> Optional[${className}]:
    """The entity in a row; None if the row holds none. cells is {family: {qualifier: value}} or {b"family:qualifier": value};
    a value is bytes, or versions by timestamp. Raises CodecError on a row of another layout, and on bytes that are no
    values of the columns."""
    cells = _Cells(cells)
    if not cells.hold(${markerSource}, ${version}, ${pythonBool(lifelong)}):
        return None
    found = cls.decode_key(row)
${indented(reads.join(''), '    ')}    return found`;
}

function encodeMethod({ marker, version, columns }: EntityModel): string {
  const writes = columns.map((column) => {
    const { name, kind, window } = column;
    const at = `self.COLUMNS["${name}"]`;
    const value = `self.${fieldName(name)}`;
    if (kind !== 'columns') return `_put(values, ${at}, ${value}, "${name}")\n`;
    const keys =
      window === undefined
        ? `${at}.keys`
        : offsetSource(column, `_bucket_start(self.${fieldName(window.part)}, ${window.width})`);
    return `_put_all(values, ${at}, ${keys}, ${value}, "${name}")\n`;
  });
  const marked =
    marker === undefined
      ? '{}'
      : `{${pythonText(marker.family)}: {${bytesSource(marker.qualifier)}: bytes([${version}])}}`;
  return `def encode_cells(self) -> Dict[str, Dict[bytes, bytes]]:
    """The cells of the entity by family and qualifier, with its marker and without properties that are None."""
    values = ${marked}
${indented(writes.join(''), '    ')}    return values`;
}

/** The codec of the qualifiers of packed columns in the bucket that starts at `start`. */
function offsetSource({ keyCodec, window }: ColumnModel, start: string): string {
  return `_Offset(${start}, ${window!.unit}, ${window!.width}, ${keyCodec!.kind === 'int' ? 2 : 4})`;
}
