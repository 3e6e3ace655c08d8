/**
 * Avro schemas (specification 1.11 and 1.12) as JSON, and their parsing into a graph in which every name is resolved.
 */

import { SchemaError } from '../../errors.js';

/** An Avro schema as JSON. */
export type AvroSchema = string | readonly AvroSchema[] | AvroSchemaObject;

export interface AvroSchemaObject {
  readonly type: AvroSchema;
  readonly [attribute: string]: unknown;
}

const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const;
export type PrimitiveName = (typeof PRIMITIVES)[number];

/** The properties of decimals that compatibility checks compare. */
export interface LogicalMark {
  readonly logicalType: string | undefined;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
}

export interface PrimitiveNode extends LogicalMark {
  readonly kind: 'primitive';
  readonly type: PrimitiveName;
}

export interface FieldNode {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly type: SchemaNode;
  readonly hasDefault: boolean;
}

export interface RecordNode {
  readonly kind: 'record';
  /** Includes the namespace. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Set after the node is registered, since records may be recursive. */
  fields: readonly FieldNode[];
}

export interface EnumNode {
  readonly kind: 'enum';
  readonly name: string;
  readonly aliases: readonly string[];
  readonly symbols: readonly string[];
  readonly hasDefault: boolean;
}

export interface FixedNode extends LogicalMark {
  readonly kind: 'fixed';
  readonly name: string;
  readonly aliases: readonly string[];
  readonly size: number;
}

interface ArrayNode {
  readonly kind: 'array';
  readonly items: SchemaNode;
}

interface MapNode {
  readonly kind: 'map';
  readonly values: SchemaNode;
}

export interface UnionNode {
  readonly kind: 'union';
  readonly branches: readonly SchemaNode[];
}

export type SchemaNode = PrimitiveNode | RecordNode | EnumNode | FixedNode | ArrayNode | MapNode | UnionNode;

/**
 * Parses a schema.
 * @throws SchemaError naming the path of the first error.
 */
export function parseAvroSchema(schema: AvroSchema): SchemaNode {
  return new SchemaReader().read(schema, '', 'schema');
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

class SchemaReader {
  private readonly named = new Map<string, SchemaNode>();

  read(schema: unknown, namespace: string, path: string): SchemaNode {
    if (typeof schema === 'string') return this.reference(schema, namespace, path);
    if (Array.isArray(schema)) return this.union(schema, namespace, path);
    if (typeof schema !== 'object' || schema === null)
      throw fail(path, 'is neither a name, a list nor an object');
    const object = schema as AvroSchemaObject;
    switch (object.type) {
      case 'record':
      case 'error':
        return this.record(object, namespace, path);
      case 'enum':
        return this.enumeration(object, namespace, path);
      case 'fixed':
        return this.fixed(object, namespace, path);
      case 'array':
        return { kind: 'array', items: this.read(object['items'], namespace, `${path}[]`) };
      case 'map':
        return { kind: 'map', values: this.read(object['values'], namespace, `${path}{}`) };
      default:
        return this.annotated(object, namespace, path);
    }
  }

  /** Reads `{ "type": "long", "logicalType": ... }`, or an object around any other schema. */
  private annotated(object: AvroSchemaObject, namespace: string, path: string): SchemaNode {
    const inner = this.read(object.type, namespace, path);
    return inner.kind === 'primitive' ? { ...inner, ...logicalMark(object) } : inner;
  }

  private reference(name: string, namespace: string, path: string): SchemaNode {
    if (isPrimitive(name)) return { kind: 'primitive', type: name, ...logicalMark({}) };
    const found = this.named.get(fullName(name, namespace)) ?? this.named.get(name);
    if (found === undefined) throw fail(path, `refers to "${name}", which is not defined before it`);
    return found;
  }

  private union(schemas: readonly unknown[], namespace: string, path: string): UnionNode {
    const branches = schemas.map((schema, i) => this.read(schema, namespace, `${path}|${i}`));
    const keys = branches.map((branch) => {
      if (branch.kind === 'union') throw fail(path, 'is a union within a union');
      return branch.kind === 'primitive' ? branch.type : 'name' in branch ? branch.name : branch.kind;
    });
    if (keys.length === 0) throw fail(path, 'is an empty union');
    const repeated = keys.find((key, i) => keys.indexOf(key) !== i);
    if (repeated !== undefined) throw fail(path, `is a union with ${repeated} twice`);
    return { kind: 'union', branches };
  }

  private record(object: AvroSchemaObject, namespace: string, path: string): RecordNode {
    const { name, own, aliases } = this.naming(object, namespace, path);
    const node: RecordNode = { kind: 'record', name, aliases, fields: [] };
    this.register(node, path);
    const fields = object['fields'];
    if (!Array.isArray(fields)) throw fail(`${path} (${name})`, 'is a record without a list of fields');
    const seen = new Set<string>();
    node.fields = fields.map((field: unknown, i) => {
      const { name: fieldName, type, aliases: others } = (field ?? {}) as Record<string, unknown>;
      if (typeof fieldName !== 'string' || !NAME.test(fieldName))
        throw fail(`${name} field ${i}`, 'has no valid Avro name');
      if (seen.has(fieldName)) throw fail(`${name}.${fieldName}`, 'occurs twice');
      seen.add(fieldName);
      return {
        name: fieldName,
        aliases: texts(others),
        type: this.read(type, own, `${name}.${fieldName}`),
        hasDefault:
          Object.hasOwn(field as object, 'default') && (field as { default: unknown }).default !== undefined,
      };
    });
    return node;
  }

  private enumeration(object: AvroSchemaObject, namespace: string, path: string): EnumNode {
    const { name, aliases } = this.naming(object, namespace, path);
    const symbols = texts(object['symbols']);
    if (symbols.length === 0 || new Set(symbols).size !== symbols.length) {
      throw fail(`${path} (${name})`, 'is an enum without symbols, or with one twice');
    }
    const node: EnumNode = {
      kind: 'enum',
      name,
      aliases,
      symbols,
      hasDefault: object['default'] !== undefined,
    };
    return this.register(node, path);
  }

  private fixed(object: AvroSchemaObject, namespace: string, path: string): FixedNode {
    const { name, aliases } = this.naming(object, namespace, path);
    const size = object['size'];
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 1) {
      throw fail(`${path} (${name})`, 'is fixed without a size in bytes');
    }
    return this.register({ kind: 'fixed', name, aliases, size, ...logicalMark(object) }, path);
  }

  private naming(object: AvroSchemaObject, namespace: string, path: string) {
    const { name, namespace: given } = object;
    if (typeof name !== 'string' || !name.split('.').every((label) => NAME.test(label))) {
      throw fail(path, `has no valid Avro name (${JSON.stringify(name)})`);
    }
    const full = fullName(name, typeof given === 'string' ? given : namespace);
    const own = full.includes('.') ? full.slice(0, full.lastIndexOf('.')) : '';
    return { name: full, own, aliases: texts(object['aliases']).map((alias) => fullName(alias, own)) };
  }

  private register<N extends RecordNode | EnumNode | FixedNode>(node: N, path: string): N {
    if (this.named.has(node.name)) throw fail(path, `defines "${node.name}" a second time`);
    this.named.set(node.name, node);
    return node;
  }
}

function isPrimitive(name: string): name is PrimitiveName {
  return (PRIMITIVES as readonly string[]).includes(name);
}

function fullName(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

function logicalMark(object: Readonly<Record<string, unknown>>): LogicalMark {
  const { logicalType, precision, scale } = object;
  const decimal = logicalType === 'decimal';
  return {
    logicalType: typeof logicalType === 'string' ? logicalType : undefined,
    precision: typeof precision === 'number' ? precision : undefined,
    scale: typeof scale === 'number' ? scale : decimal ? 0 : undefined,
  };
}

function fail(path: string, why: string): SchemaError {
  return new SchemaError(`Not an Avro schema: ${path} ${why}.`);
}
