/** Says in words what the SDK's validator, AJV, has found wrong with the arguments of a tool, and what is allowed there. */

import { describe, isRecord } from '../../table/checks.js';

const TYPES = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
} as const;
type Type = keyof typeof TYPES;

/** A schema of JSON (2020-12), as far as the tools need it. */
export interface ArgumentSchema {
  /** What is said of it, also beside a value of another type. */
  readonly description?: string;
  readonly type?: Type | readonly Type[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
  /** Of properties that are not named. */
  readonly additionalProperties?: false | ArgumentSchema;
  readonly items?: ArgumentSchema;
}

/** The first of AJV's errors: the path of the value, and the rule that it breaks. */
const FIRST_ERROR = /^data((?:\/[^/ ,]+)*) (must [^,]*)/;
const MISSING = /^must have required property '(.*)'$/;
const BOUND = /^must be [<>]= /;

/** @param found AJV's text, as `data/where/0/operator must be equal to one of the allowed values`. */
export function argumentProblem(
  { name, input }: { readonly name: string; readonly input: ArgumentSchema },
  given: unknown,
  found: string,
): string {
  const [, pointer, rule] = FIRST_ERROR.exec(found) ?? [];
  if (pointer === undefined || rule === undefined) return `${name}: ${found}.`;
  let schema = input;
  let value = given;
  let path = '';
  for (const step of pointer.split('/').slice(1)) {
    path += Array.isArray(value) ? `[${step}]` : path === '' ? step : `.${step}`;
    schema = schemaOf(schema, step);
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  const at = path === '' ? name : `${name}: ${path}`;
  const said = schema.description === undefined ? '' : ` ${schema.description}`;
  const missing = MISSING.exec(rule);
  if (missing !== null) return `${at} lacks "${missing[1]}".`;
  const names = Object.keys(schema.properties ?? {});
  const unknown = isRecord(value) ? Object.keys(value).find((each) => !names.includes(each)) : undefined;
  if (schema.additionalProperties === false && unknown !== undefined)
    return `${at} takes no "${unknown}". It takes ${names.length === 0 ? 'no arguments' : names.join(', ')}.`;
  if (schema.enum !== undefined) return `${at} is ${describe(value)}. Give one of ${schema.enum.join(', ')}.`;
  if (BOUND.test(rule)) return `${at} must not be ${String(value)}.${said}`;
  const types = [schema.type ?? []].flat().map((type) => TYPES[type]);
  return `${at} must be ${types.join(', or ')}, not ${describe(value)}.${said}`;
}

/** The schema of an item of a list, or of a property. */
function schemaOf({ items, properties, additionalProperties }: ArgumentSchema, step: string): ArgumentSchema {
  return items ?? properties?.[step] ?? (additionalProperties || {});
}
