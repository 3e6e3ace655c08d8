/** A schema as a file in the repository, in a fixed order and one option a line, so that reviews show what changed. */

import { fromHex, toHex } from '../../bytes/index.js';
import { AvroRegistry, type AvroSchema, MemorySchemaStore } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { avroColumns } from '../../schema/index.js';
import type { TableSchema } from '../../schema/types.js';
import {
  type FamilyOptions,
  parseTableName,
  type TableDescriptor,
  type TableOptions,
  tableDescriptor,
} from '../../table/index.js';
import { readStamp, stampTexts, writeStamp } from '../stamp-format.js';
import { stampedDescriptor } from '../table-stamp.js';
import { canonicalJson } from './plan.js';
import type { SchemaState, TableState } from './types.js';

const FORMAT = 1;

interface SnapshotTable {
  readonly name: string;
  readonly options: TableOptions;
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** In hex. */
  readonly splitKeys: readonly string[];
  /** The stamps of the metadata, read as JSON, by their names. */
  readonly records: Readonly<Record<string, unknown>>;
}

interface Snapshot {
  readonly format: number;
  readonly tables: readonly SnapshotTable[];
  /** By subject: every schema that was declared when a snapshot was written, oldest first. */
  readonly schemas: Readonly<Record<string, readonly AvroSchema[]>>;
}

/** What a snapshot says. */
export interface ReadSnapshot {
  readonly state: SchemaState;
  readonly schemas: Snapshot['schemas'];
}

/** The file. Avro schemas of the snapshot before it are kept: values written with them still have to be read. */
export function writeSnapshot(declared: readonly TableSchema[], before: Snapshot['schemas'] = {}): string {
  const snapshot: Snapshot = {
    format: FORMAT,
    tables: declared.map((table) => snapshotTable(stampedDescriptor(table), table.splitKeys)),
    schemas: schemasOf(declared, before),
  };
  return `${JSON.stringify(JSON.parse(canonicalJson(snapshot)), null, 2)}\n`;
}

function snapshotTable(
  { name, families, metadata, ...options }: TableDescriptor,
  splitKeys: readonly Uint8Array[],
): SnapshotTable {
  const stamps = stampTexts(metadata);
  const stamped = new Set(stamps.map(([stamp]) => stamp));
  const own = Object.fromEntries(Object.entries(metadata).filter(([key]) => !stamped.has(key)));
  return {
    name,
    options: { ...options, metadata: own } as TableOptions,
    families: Object.fromEntries(families.map(({ name: family, ...rest }) => [family, rest])),
    splitKeys: splitKeys.map(toHex),
    records: Object.fromEntries(stamps.map(([stamp, text]) => [stamp, JSON.parse(text) as unknown])),
  };
}

function schemasOf(declared: readonly TableSchema[], before: Snapshot['schemas']): Snapshot['schemas'] {
  const schemas: Record<string, readonly AvroSchema[]> = { ...before };
  for (const { subject, codec } of declared.flatMap(({ entities }) => entities.flatMap(avroColumns))) {
    const known = schemas[subject] ?? [];
    const text = canonicalJson(codec.schema);
    if (!known.some((schema) => canonicalJson(schema) === text)) schemas[subject] = [...known, codec.schema];
  }
  return schemas;
}

/** @throws InvalidArgumentError when the text is no snapshot, or not of tables that there can be. */
export function readSnapshot(text: string): ReadSnapshot {
  try {
    const { tables, schemas } = parse(text);
    const states = new Map(tables.map((table) => [table.name, stateOf(table)]));
    const namespaces = new Set([...states.keys()].map((name) => parseTableName(name).namespace));
    return { state: { namespaces, tables: states }, schemas };
  } catch (cause) {
    throw new InvalidArgumentError(
      `The file is no snapshot of a schema: ${(cause as Error).message}. Write it anew with --snapshot.`,
      { cause },
    );
  }
}

function stateOf({ name, options, families, splitKeys, records }: SnapshotTable): TableState {
  const stamps = Object.entries(records).map(([stamp, value]) => [stamp, stampText(value)]);
  const metadata = { ...options.metadata, ...Object.fromEntries(stamps) };
  const descriptor = tableDescriptor(name, families, { ...options, metadata });
  return { descriptor, splitKeys: splitKeys.map(fromHex), enabled: true };
}

/** A stamp as it is written to a table, whatever the order in the file. */
function stampText(value: unknown): string {
  const text = JSON.stringify(value);
  const stamp = readStamp(text);
  return typeof stamp === 'string' ? text : writeStamp(stamp);
}

function parse(text: string): Snapshot {
  const read = JSON.parse(text) as Snapshot;
  if (read.format === FORMAT && Array.isArray(read.tables)) return { ...read, schemas: read.schemas ?? {} };
  throw new Error(`its format is ${String(read.format)}, and this version of Rowan reads ${FORMAT}`);
}

/** The schemas of a snapshot, to hold those of a program against. */
export async function snapshotRegistry(schemas: Snapshot['schemas']): Promise<AvroRegistry> {
  const registry = new AvroRegistry(new MemorySchemaStore());
  for (const [subject, versions] of Object.entries(schemas)) {
    for (const schema of versions) await registry.register(subject, schema, 'none');
  }
  return registry;
}
