/** Schemas as avsc's types, with Rowan's values in place of avsc's own. */

import type avsc from 'avsc';
import { canGenerate } from '../../codegen/index.js';
import { SchemaError, UnsupportedError } from '../../errors.js';
import { Type } from './avsc.js';
import { BYTE_ARRAY, bigLong, LOGICAL_TYPES } from './logical.js';
import { type AvroSchema, type AvroSchemaObject, parseAvroSchema } from './schema.js';

/** Classes by the names of records: decoded records become their instances, without their constructors being called. */
export type RecordClasses = Readonly<Record<string, abstract new (...args: never[]) => object>>;

/**
 * The type that encodes and decodes values of a schema. Records become plain objects or instances of `classes`.
 * @throws SchemaError when it is no Avro schema.
 */
export function readerType(schema: AvroSchema, classes: RecordClasses = {}): avsc.Type {
  parseAvroSchema(schema);
  checkGenerating();
  const used = new Set<string>();
  const type = build(adapt(schema), {
    logicalTypes: LOGICAL_TYPES as never,
    assertLogicalTypes: true,
    registry: { [BIG_LONG_NAME]: bigLong() },
    omitRecordMethods: true,
    typeHook: undefined as never,
  });
  eachRecord(type, (record) => {
    const simple = record.name!.slice(record.name!.lastIndexOf('.') + 1);
    const target = classes[record.name!] ?? classes[simple];
    if (target !== undefined) used.add(classes[record.name!] === undefined ? simple : record.name!);
    const { recordConstructor } = record as avsc.types.RecordType;
    (recordConstructor as { prototype: object }).prototype = target?.prototype ?? Object.prototype;
  });
  const unused = Object.keys(classes).filter((name) => !used.has(name));
  if (unused.length > 0) {
    throw new SchemaError(
      `The Avro schema has no record named ${unused.join(', ')}, for which a class is given.`,
    );
  }
  return type;
}

/** The type of a schema that another program or version wrote with: only ever read through a reader's type. */
export function writerType(schema: AvroSchema): avsc.Type {
  return build(schema, { logicalTypes: {}, registry: {}, omitRecordMethods: true });
}

function build(schema: AvroSchema, options: Partial<avsc.ForSchemaOptions>): avsc.Type {
  checkGenerating();
  try {
    return Type.forSchema(schema as never, options);
  } catch (cause) {
    throw new SchemaError(`Not an Avro schema: ${(cause as Error).message}.`, undefined, { cause });
  }
}

/** @throws UnsupportedError where functions of text are forbidden: avsc makes some for every type. */
function checkGenerating(): void {
  if (canGenerate()) return;
  throw new UnsupportedError(
    'Avro columns need functions made of text, which this runtime forbids (a content security policy, or ' +
      '--disallow-code-generation-from-strings). Keep the value as json(), or allow it.',
  );
}

const BIG_LONG_NAME = 'rowan.bigLong';

/** Puts Rowan's own types in place of bytes, fixed and longs that are bigints. */
function adapt(schema: AvroSchema): AvroSchema {
  if (schema === 'bytes') return { type: 'bytes', logicalType: BYTE_ARRAY };
  if (typeof schema === 'string') return schema;
  if (Array.isArray(schema)) return schema.map(adapt);
  const object = schema as AvroSchemaObject;
  const { type, logicalType, jsType } = object;
  if (type === 'long' && jsType === 'bigint') return BIG_LONG_NAME;
  if (type === 'bytes' || type === 'fixed') {
    const known = typeof logicalType === 'string' && Object.hasOwn(LOGICAL_TYPES, logicalType);
    return known ? object : { ...object, logicalType: BYTE_ARRAY };
  }
  if (type === 'record' || type === 'error') {
    const fields = object['fields'] as readonly { readonly type: AvroSchema }[];
    return { ...object, fields: fields.map((field) => ({ ...field, type: adapt(field.type) })) };
  }
  if (type === 'array') return { ...object, items: adapt(object['items'] as AvroSchema) };
  if (type === 'map') return { ...object, values: adapt(object['values'] as AvroSchema) };
  return typeof type === 'object' ? { ...object, type: adapt(type) } : object;
}

function eachRecord(type: avsc.Type, visit: (record: avsc.Type) => void, seen = new Set<avsc.Type>()): void {
  if (seen.has(type)) return;
  seen.add(type);
  if (Type.isType(type, 'record', 'error')) {
    visit(type);
    for (const field of (type as avsc.types.RecordType).fields) eachRecord(field.type, visit, seen);
  } else if (Type.isType(type, 'array')) {
    eachRecord((type as avsc.types.ArrayType).itemsType, visit, seen);
  } else if (Type.isType(type, 'map')) {
    eachRecord((type as avsc.types.MapType).valuesType, visit, seen);
  } else if (Type.isType(type, 'union')) {
    for (const branch of (type as avsc.types.UnwrappedUnionType).types) eachRecord(branch, visit, seen);
  }
}
