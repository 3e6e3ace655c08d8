/** Generates TypeScript that declares a live table, from the stamps of its entities. */

import { fromHex, toHex } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { avroSubject } from '../../schema/index.js';
import {
  type FamilyDescriptor,
  FOREVER,
  familyDescriptor,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';
import { INDEX_DDL } from '../feature-ddl.js';
import type { NamedColumn, StoredIndex, TableState } from '../plan/types.js';
import { type RecordStamp, readStamp, type StampedColumn, stampTexts } from '../stamp-format.js';
import { codecSource, elementSource, elementsOf, quoted, type Source } from './source.js';

/** A generated module that declares a table and its entities. */
export interface IntrospectedTable {
  readonly source: string;
  /**
   * What could not be derived exactly, each as a sentence that the module repeats at its place. Empty if it declares
   * the same bytes.
   */
  readonly inexact: readonly string[];
}

/** The latest Avro schema of a subject, as JSON; undefined if there is none. */
type AvroSchemas = ReadonlyMap<string, string>;

/** Collects the imports and warnings while a module is generated. */
class Module {
  readonly uses = new Set<string>(['defineEntity', 'defineTable']);
  readonly inexact: string[] = [];

  /** The text of an expression; if there is none, a comment and `otherwise`. */
  text(source: Source | undefined, what: string, otherwise: Source): string {
    if (source === undefined) this.inexact.push(what);
    const { text, uses } = source ?? otherwise;
    for (const name of uses) this.uses.add(name);
    return source === undefined ? `${text} /* ${what.replaceAll('*/', '* /')} */` : text;
  }
}

const BYTES: Source = { text: 'bytes', uses: ['bytes'] };

/**
 * Generates the module.
 * @throws SchemaError when the table has no stamps: Rowan did not write it.
 */
export function introspect(
  { descriptor, splitKeys }: Pick<TableState, 'descriptor' | 'splitKeys'>,
  schemas: AvroSchemas = new Map(),
  indexes: readonly StoredIndex[] = [],
): IntrospectedTable {
  const stamps = stampTexts(descriptor.metadata);
  if (stamps.length === 0) {
    throw new SchemaError(
      `Table "${descriptor.name}" has no stamps: it was not written by Rowan, so the meaning of its bytes is unknown.`,
    );
  }
  const module = new Module();
  const entities = stamps.map(([name, text]) => {
    const stamp = readStamp(text);
    if (typeof stamp === 'string')
      throw new SchemaError(`Table "${descriptor.name}": the stamp ${name} cannot be read: ${stamp}.`);
    const type = name.split('.')[2];
    const own = indexes.filter(({ entity, state }) => entity === stamp.entity && state !== 'disabled');
    const recordType = type === undefined ? undefined : Number(type);
    return entityText(module, descriptor.name, stamp, recordType, schemas, own);
  });
  const source = [importsOf(module.uses), tableText(descriptor, splitKeys), ...entities].join('\n');
  return { source, inexact: module.inexact };
}

/** Codec profiles of other programs come from another entry point. */
const OF_CODECS: ReadonlySet<string> = new Set(['kiji', 'phoenix', 'raw']);

export function importsOf(uses: ReadonlySet<string>): string {
  const line = (names: readonly string[], from: string): string =>
    names.length === 0 ? '' : `import { ${names.join(', ')} } from '${from}';\n`;
  const names = [...uses].sort();
  return (
    line(
      names.filter((name) => !OF_CODECS.has(name)),
      'rowan-orm',
    ) +
    line(
      names.filter((name) => OF_CODECS.has(name)),
      'rowan-orm/codecs',
    )
  );
}

export function tableText(table: TableDescriptor, splitKeys: readonly Uint8Array[]): string {
  const families = table.families.map((family) => `    ${quoted(family.name)}: ${familyText(family)},`);
  const defaults = tableDescriptor(table.name, table.families);
  const own = Object.fromEntries(
    Object.entries(table.metadata).filter(
      ([name]) => !stampTexts(table.metadata).some(([stamp]) => stamp === name),
    ),
  );
  const { name, families: _, ...options } = { ...table, metadata: own };
  const given = changed(options, defaults).map(([option, value]) => `  ${option}: ${JSON.stringify(value)},`);
  if (splitKeys.length > 0) {
    const keys = splitKeys.map((key) => `Buffer.from('${toHex(key)}', 'hex')`);
    given.push(`  presplit: { splits: [${keys.join(', ')}] },`);
  }
  return `export const table = defineTable({
  name: ${quoted(name)},
  families: {
${families.join('\n')}
  },
${given.map((line) => `${line}\n`).join('')}});
`;
}

function familyText({ name, ...options }: FamilyDescriptor): string {
  const given = changed(options, familyDescriptor(name)).map(
    ([option, value]) =>
      `${option}: ${option === 'ttl' && value === FOREVER ? "'FOREVER'" : JSON.stringify(value)}`,
  );
  return given.length === 0 ? '{}' : `{ ${given.join(', ')} }`;
}

/** Options that differ from the default. */
function changed(options: object, defaults: object): [string, unknown][] {
  const before = defaults as Readonly<Record<string, unknown>>;
  return Object.entries(options).filter(
    ([option, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(before[option]),
  );
}

function entityText(
  module: Module,
  table: string,
  stamp: RecordStamp,
  recordType: number | undefined,
  schemas: AvroSchemas,
  indexes: readonly StoredIndex[],
): string {
  const name = stamp.entity ?? `Record${recordType ?? ''}`;
  const key = elementsOf(stamp.key).map((element) =>
    module.text(
      elementSource(element),
      `${name}: the part ${element} of its key cannot be derived from its name`,
      {
        text: "part('unknown')",
        uses: ['part'],
      },
    ),
  );
  const named = namedColumns(stamp.columns);
  const columns = named.map((column) =>
    columnText(
      module,
      name,
      column,
      schemas.get(avroSubject(table, recordType, column.family, fromHex(column.qualifier))),
    ),
  );
  const declared = indexes.flatMap((index) => {
    const source = INDEX_DDL?.source(index, named);
    if (source === undefined) {
      module.inexact.push(
        `${name}: the metadata of the index "${index.index}" does not suffice to declare it`,
      );
      return [];
    }
    for (const use of source.uses) module.uses.add(use);
    return [`    ${source.text},\n`];
  });
  const marker = stamp.marker === null ? 'false' : quoted(stamp.marker.split(':')[0]!);
  const variable = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `Record${recordType ?? ''}`;
  return `export const ${variable} = defineEntity({
  name: ${quoted(name)},
  table,
${recordType === undefined ? '' : `  recordType: ${recordType},\n`}  marker: ${marker},
  key: [${key.join(', ')}],
  columns: (c) => ({
${columns.map((line) => `    ${line}\n`).join('')}  }),
${declared.length === 0 ? '' : `  indexes: {\n${declared.join('')}  },\n`}});
`;
}

/** Columns with unique property names. */
function namedColumns(columns: readonly StampedColumn[]): NamedColumn[] {
  const names = new Set<string>();
  return columns.map((column) => {
    const text = Buffer.from(fromHex(column.qualifier)).toString('utf8');
    let declared = (column.property ?? (text || column.family)).replaceAll('.', '_');
    while (names.has(declared)) declared += '_';
    names.add(declared);
    return { ...column, declared };
  });
}

/** Returns e.g. "d:n"; the qualifier is written as text. */
function columnName([family, qualifier]: readonly [string, string]): string {
  return `${family}:${Buffer.from(fromHex(qualifier)).toString('utf8')}`;
}

function columnText(module: Module, entity: string, column: NamedColumn, schema: string | undefined): string {
  const { family, qualifier, kind, codec, keyCodec, declared: property } = column;
  const place = columnName([family, qualifier]);
  const value = module.text(
    codec.startsWith('avro(') ? avroSource(schema) : codecSource(codec),
    `${entity}.${property}: the codec ${codec} cannot be derived from its name`,
    BYTES,
  );
  const key =
    keyCodec === undefined
      ? undefined
      : module.text(
          codecSource(keyCodec),
          `${entity}.${property}: the codec ${keyCodec} cannot be derived from its name`,
          BYTES,
        );
  if (kind === 'counter') return `${quoted(property)}: c.counter(${quoted(place)}),`;
  if (kind === 'versions') return `${quoted(property)}: c.versions(${quoted(place)}, ${value}),`;
  if (kind === 'columns')
    return `${quoted(property)}: c.columns(${quoted(place)}, { key: ${key}, value: ${value} }),`;
  return `${quoted(property)}: c.column(${quoted(place)}, ${value}).optional(),`;
}

function avroSource(schema: string | undefined): Source | undefined {
  return schema === undefined ? undefined : { text: `avroCodec(${schema})`, uses: ['avroCodec'] };
}
