/** Checks the arguments of a tool against its schema, and says in words what is wrong. */

import { describe, isRecord } from '../../table/checks.js';

type Type = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array';

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

const TYPES: Readonly<Record<Type, readonly [name: string, is: (value: unknown) => boolean]>> = {
  string: ['a text', (value) => typeof value === 'string'],
  number: ['a number', (value) => typeof value === 'number'],
  integer: ['a whole number', (value) => Number.isSafeInteger(value)],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  object: ['an object', isRecord],
  array: ['a list', Array.isArray],
};

/** What is wrong with the arguments of a call; undefined when they are as the schema has them. */
export function argumentProblem(
  { name, input }: { readonly name: string; readonly input: ArgumentSchema },
  given: unknown,
): string | undefined {
  return problemIn(input, given, name, '');
}

/** `path` leads to the value, as `where[0].operator`; it is empty for the arguments themselves. */
function problemIn(schema: ArgumentSchema, value: unknown, tool: string, path: string): string | undefined {
  const at = path === '' ? tool : `${tool}: ${path}`;
  const said = schema.description === undefined ? '' : ` ${schema.description}`;
  if (schema.enum !== undefined && !schema.enum.includes(value as string))
    return `${at} is ${describe(value)}. Give one of ${schema.enum.join(', ')}.`;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => TYPES[type][1](value)))
    return `${at} must be ${types.map((type) => TYPES[type][0]).join(', or ')}, not ${describe(value)}.${said}`;
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    return value < minimum || value > maximum ? `${at} must not be ${value}.${said}` : undefined;
  }
  if (Array.isArray(value)) return firstOf(value, (each, i) => inItem(schema, each, tool, `${path}[${i}]`));
  return isRecord(value) ? problemOfObject(schema, value, tool, path) : undefined;
}

function inItem({ items }: ArgumentSchema, value: unknown, tool: string, path: string): string | undefined {
  return items === undefined ? undefined : problemIn(items, value, tool, path);
}

function problemOfObject(
  { properties = {}, required = [], additionalProperties }: ArgumentSchema,
  value: Readonly<Record<string, unknown>>,
  tool: string,
  path: string,
): string | undefined {
  const at = path === '' ? tool : `${tool}: ${path}`;
  const missing = required.find((name) => value[name] === undefined);
  if (missing !== undefined) return `${at} lacks "${missing}".`;
  return firstOf(Object.entries(value), ([name, each]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (known === false) {
      const names = Object.keys(properties).join(', ');
      return `${at} takes no "${name}". It takes ${names === '' ? 'no arguments' : names}.`;
    }
    return known === undefined
      ? undefined
      : problemIn(known, each, tool, path === '' ? name : `${path}.${name}`);
  });
}

function firstOf<T>(
  values: readonly T[],
  problem: (value: T, at: number) => string | undefined,
): string | undefined {
  for (const [at, value] of values.entries()) {
    const found = problem(value, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
