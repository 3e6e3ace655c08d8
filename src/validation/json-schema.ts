/** JSON Schemas of entities, and `components` for OpenAPI. */

import { InvalidArgumentError } from '../errors.js';
import { schemaOf } from '../mapper/index.js';
import type { EntityClass } from '../schema/types.js';
import { describe, isList } from '../table/checks.js';
import { type Field, fieldsOf, type Shape } from './fields.js';
import type { JsonSchemaTarget } from './standard.js';
import { type JsonSchema, valueSchema } from './values.js';

const DIALECTS: Readonly<Record<JsonSchemaTarget, string>> = {
  'draft-2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
};

/** A complete JSON Schema document that names its dialect. @throws InvalidArgumentError on another dialect. */
export function documentOf(fields: readonly Field[], target: string): JsonSchema {
  const dialect = Object.hasOwn(DIALECTS, target) ? DIALECTS[target as JsonSchemaTarget] : undefined;
  if (dialect === undefined) {
    throw new InvalidArgumentError(
      `The JSON Schema dialect ${describe(target)} is not supported. Use ${Object.keys(DIALECTS).join(' or ')}; OpenAPI 3.1 takes draft-2020-12.`,
    );
  }
  return { $schema: dialect, ...objectSchema(fields, target as JsonSchemaTarget) };
}

function objectSchema(fields: readonly Field[], target: JsonSchemaTarget): JsonSchema {
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field, target)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema(field: Field, target: JsonSchemaTarget): JsonSchema {
  const schema = ownSchema(field, target);
  // A schema without constraints accepts null too.
  if (!field.nullable || Object.keys(schema).length === 0) return schema;
  return { anyOf: [schema, { type: 'null' }] };
}

function ownSchema(field: Field, target: JsonSchemaTarget): JsonSchema {
  switch (field.kind) {
    case 'value':
      return valueSchema(field.codec);
    case 'object':
      return objectSchema(field.fields, target);
    case 'map':
      return { type: 'array', items: pairSchema(field.key, field.codec, target) };
    case 'versions':
      return {
        type: 'array',
        items: {
          type: 'object',
          properties: { value: valueSchema(field.codec), timestamp: { type: 'integer', minimum: 0 } },
          required: ['value'],
        },
      };
  }
}

/** A pair [key, value]; null deletes the entry. */
function pairSchema(
  key: { readonly name: string },
  codec: { readonly name: string },
  target: JsonSchemaTarget,
): JsonSchema {
  const value = valueSchema(codec);
  const items = [
    valueSchema(key),
    Object.keys(value).length === 0 ? value : { anyOf: [value, { type: 'null' }] },
  ];
  const pair = { type: 'array', minItems: 2, maxItems: 2 };
  return target === 'draft-07' ? { ...pair, items } : { ...pair, prefixItems: items };
}

/** The `components` of an OpenAPI document. */
export interface OpenApiComponents {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

const SHAPES: readonly (readonly [suffix: string, shape: Shape])[] = [
  ['', 'entity'],
  ['Input', 'input'],
  ['Patch', 'patch'],
  ['Key', 'key'],
];

/**
 * Creates the `components` of an OpenAPI document (3.1) for these entities. For `Ticket` these are the schemas `Ticket`
 * (the result of `toPlain`), `TicketInput`, `TicketPatch` and `TicketKey`.
 *
 * @throws SchemaError on wrong declarations.
 * @throws InvalidArgumentError where two entities have one name.
 * @example
 * ```ts
 * const document = { openapi: '3.1.0', info, paths, components: openApiComponents([Ticket, Order]) };
 * ```
 */
export function openApiComponents(entities: readonly EntityClass[]): OpenApiComponents {
  if (!isList(entities)) {
    throw new InvalidArgumentError(
      `openApiComponents takes a list of classes, [Ticket, Order], not ${describe(entities)}.`,
    );
  }
  const none = new Set<string>();
  const schemas: Record<string, JsonSchema> = {};
  for (const entity of entities) {
    const schema = schemaOf(entity);
    for (const [suffix, shape] of SHAPES) {
      const name = `${schema.name}${suffix}`;
      if (Object.hasOwn(schemas, name)) {
        throw new InvalidArgumentError(
          `openApiComponents: two schemas have the name ${name}. Give one entity another with @Entity({ name }).`,
          { details: { entity: schema.name } },
        );
      }
      schemas[name] = objectSchema(fieldsOf(schema, shape, none, none), 'draft-2020-12');
    }
  }
  return { schemas };
}
