/** Parses the query of an HTTP request into arguments of the query API. */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { schemaOf } from '../mapper/index.js';
import { parseWhere } from '../query/condition.js';
import { compileCondition } from '../query/evaluate.js';
import { parseKeyConditions, resolverOf, type Where } from '../query/index.js';
import { CONDITION_OPERATORS } from '../query/key-conditions.js';
import { orderedProperty } from '../query/sort.js';
import type { EntityOf, KeyedClass, KeyOf, KeyPrefix, PropertiesOf } from '../schema/entity-types.js';
import { type EntitySchema, isSingleCell } from '../schema/types.js';
import { checkOptions, describe, isInstance, isList, isPlainObject, isRecord } from '../table/checks.js';
import { partCodec } from './fields.js';
import { type Issue, MAX_ISSUES, refusal } from './standard.js';
import { type AnyCodec, isText, readValue, valueSchema } from './values.js';

/** An operator of an HTTP query: `total[gte]=5`. Without one, the value must be equal (`eq`). */
export type QueryOperator = (typeof CONDITION_OPERATORS)[number];

const OPERATORS: readonly QueryOperator[] = CONDITION_OPERATORS;
const OF_TEXT: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);
const OF_ALL: readonly QueryOperator[] = ['eq', 'ne', 'in', 'notIn', 'exists'];
/** The operators that conditions on a key support. */
const OF_KEY: ReadonlySet<string> = new Set([
  'eq',
  'in',
  'lt',
  'lte',
  'gt',
  'gte',
  'between',
  'startsWith',
  'endsWith',
]);

/** A property that a query may use: a column, a key part, or, with a dot, a column of an embedded object. */
export type QueryField<C extends KeyedClass> =
  | PropertiesOf<EntityOf<C>>
  | `${PropertiesOf<EntityOf<C>>}.${string}`;

/** The properties and options that an HTTP query may use. */
export interface QueryRules<C extends KeyedClass> {
  /**
   * The allowed properties: `'status'` with every operator that fits its values, or with some of them, `{ total:
   * ['gte', 'lt'] }`. All others are refused.
   */
  readonly allow: readonly (QueryField<C> | { readonly [P in QueryField<C>]?: readonly QueryOperator[] })[];
  /** Leading key parts that the program sets itself, such as a tenant. A query cannot override them. */
  readonly key?: Partial<KeyOf<C>>;
  /** Properties to sort by. Default: none, so rows come in key order. */
  readonly orderBy?: readonly QueryField<C>[];
  /** The page size if the query gives none; default 20. */
  readonly limit?: number;
  /** The largest page size that a query may request; default 100. */
  readonly maxLimit?: number;
  /** The largest number of conditions in a query; default 20. */
  readonly maxConditions?: number;
  /** The largest number of values in a list (`in`), and of key ranges that lists may expand to; default 50. */
  readonly maxValues?: number;
  /** The largest length of a value in characters; default 1000. A cursor may be ten times as long. */
  readonly maxLength?: number;
}

/** The parsed query, for `find`, `where` and `page`. */
export interface ParsedQuery<C extends KeyedClass> {
  /** Conditions on leading key parts, including those set by the program. */
  readonly key: KeyPrefix<C>;
  /** All other conditions. */
  readonly where: Where<C>;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly orderBy: { readonly property: QueryField<C>; readonly direction: 'asc' | 'desc' } | undefined;
}

/**
 * The query of a request in the forms that frameworks provide: `URLSearchParams`, or an object of strings, flat or
 * nested.
 */
export type QuerySource = URLSearchParams | Readonly<Record<string, unknown>>;

/**
 * Parses the query of an HTTP request: `?status=open&total[gte]=5&placedAt[in]=…&limit=20&cursor=…&orderBy=-total`.
 * Strings are converted to the values of their columns. Properties that are not allowed, invalid values, and values
 * that are too long or too many are refused, each with its path.
 *
 * @throws InvalidArgumentError with `details.issues` on a wrong query, and on nothing else that a client sends; without issues
 * on wrong rules. SchemaError on wrong declarations.
 * @example
 * ```ts
 * const { key, where, limit, cursor } = parseQuery(Ticket, req.query, { key: { tenantId }, allow: ['status', 'openedAt'] });
 * const page = await tickets.find(key).where(where).page({ size: limit, cursor });
 * ```
 */
export function parseQuery<C extends KeyedClass>(
  target: C,
  query: QuerySource,
  rules: QueryRules<C>,
): ParsedQuery<C> {
  const schema = schemaOf(target);
  const parser = new QueryParser(schema, rulesOf(schema, rules as unknown as GivenRules));
  let parsed: object | undefined;
  try {
    parsed = parser.parse(query);
  } catch (error) {
    // For example an object with a getter that throws.
    parser.refuse([], (error as Error).message);
  }
  if (parsed === undefined || parser.issues.length > 0) {
    throw refusal(`parseQuery(${schema.name}): the query`, schema.name, parser.issues);
  }
  return parsed as ParsedQuery<C>;
}

interface GivenRules {
  readonly allow: readonly (string | Readonly<Record<string, readonly string[]>>)[];
  readonly key?: Readonly<Record<string, unknown>>;
  readonly orderBy?: readonly string[];
  readonly limit?: number;
  readonly maxLimit?: number;
  readonly maxConditions?: number;
  readonly maxValues?: number;
  readonly maxLength?: number;
}

/** An allowed property. */
interface AskedField {
  readonly codec: AnyCodec;
  readonly operators: ReadonlySet<string>;
}

interface CheckedRules {
  readonly allow: ReadonlyMap<string, AskedField>;
  readonly key: Readonly<Record<string, unknown>>;
  readonly orderBy: ReadonlySet<string>;
  readonly limit: number;
  readonly maxLimit: number;
  readonly maxConditions: number;
  readonly maxValues: number;
  readonly maxLength: number;
}

const RULES = {
  allow: true,
  key: true,
  orderBy: true,
  limit: true,
  maxLimit: true,
  maxConditions: true,
  maxValues: true,
  maxLength: true,
} as const;

const OWN: readonly string[] = ['limit', 'cursor', 'orderBy'];

function rulesOf(schema: EntitySchema, given: GivenRules): CheckedRules {
  const doing = `parseQuery(${schema.name})`;
  checkOptions(doing, given, RULES);
  const wrong = (what: string): InvalidArgumentError =>
    new InvalidArgumentError(`${doing}: ${what}`, { details: { entity: schema.name } });
  if (!isList(given.allow)) throw wrong(`allow must be a list of properties, not ${describe(given.allow)}.`);
  const allow = new Map<string, AskedField>();
  for (const item of given.allow) {
    const fields = typeof item === 'string' ? { [item]: undefined } : item;
    if (!isRecord(fields))
      throw wrong(`allow contains ${describe(item)}. Use "status", or { status: ["eq"] }.`);
    for (const [name, operators] of Object.entries(fields)) {
      if (OWN.includes(name)) throw wrong(`"${name}" is reserved in queries and cannot be allowed.`);
      const codec = askedCodec(schema, name);
      if (codec === undefined) throw wrong(`"${name}" is neither a single-valued column nor a key part.`);
      const unknown = operators?.find((operator) => !OPERATORS.includes(operator as QueryOperator));
      if (unknown !== undefined)
        throw wrong(`${describe(unknown)} is not an operator. Use one of ${OPERATORS.join(', ')}.`);
      allow.set(name, { codec, operators: new Set(operators ?? operatorsOf(schema, name, codec)) });
    }
  }
  const count = (
    name: 'limit' | 'maxLimit' | 'maxConditions' | 'maxValues' | 'maxLength',
    usual: number,
  ): number => {
    const value = given[name] ?? usual;
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw wrong(`${name} must be a positive whole number, not ${describe(value)}.`);
  };
  const maxLimit = count('maxLimit', 100);
  const orderBy = new Set(given.orderBy ?? []);
  for (const property of orderBy) orderedProperty(schema, property, 'asc');
  const key = given.key ?? {};
  parseKeyConditions(schema.name, schema.key, key);
  return {
    allow,
    key,
    orderBy,
    limit: Math.min(count('limit', 20), maxLimit),
    maxLimit,
    maxConditions: count('maxConditions', 20),
    maxValues: count('maxValues', 50),
    maxLength: count('maxLength', 1000),
  };
}

/** The codec of a key part, or of a single-valued column. */
function askedCodec(schema: EntitySchema, name: string): AnyCodec | undefined {
  if (schema.key.parts.some((part) => part.name === name)) return partCodec(schema, name);
  const column = schema.columnsByProperty.get(name);
  return isSingleCell(column) && resolverOf(schema).kindOf(name) === 'value'
    ? (column.codec as AnyCodec)
    : undefined;
}

/** Every operator that fits the values of a property. */
function operatorsOf(schema: EntitySchema, name: string, codec: AnyCodec): readonly QueryOperator[] {
  if (schema.key.substitutions.some(({ part }) => part === name)) return ['eq', 'in'];
  if (isText(codec)) return OPERATORS;
  // It is unknown whether the values of a custom codec have an order.
  const known = Object.keys(valueSchema(codec)).length > 0;
  return known ? OPERATORS.filter((operator) => !OF_TEXT.has(operator)) : OF_ALL;
}

/** The conditions on one property: operands by operator. */
type Operands = Map<string, unknown[]>;

/** The deepest nesting of a name. */
const MAX_STEPS = 8;

class QueryParser {
  readonly issues: Issue[] = [];
  /** The conditions on each property. */
  private readonly conditions = new Map<string, Operands>();
  private conditionCount = 0;
  /** The values of the parameters that are no conditions: {@link OWN}. */
  private readonly own = new Map<string, unknown[]>();

  constructor(
    private readonly schema: EntitySchema,
    private readonly rules: CheckedRules,
  ) {}

  refuse(path: readonly PropertyKey[], message: string): undefined {
    if (this.issues.length < MAX_ISSUES) this.issues.push({ path, message });
  }

  /** Undefined if the query is refused. */
  parse(query: unknown): object | undefined {
    this.gather(query);
    if (this.issues.length > 0) return undefined;
    const limit = this.limit();
    const cursor = this.cursor();
    const orderBy = this.orderBy();
    if (cursor !== undefined && orderBy !== undefined) {
      this.refuse(['cursor'], 'it cannot be combined with orderBy, since pages are in key order.');
    }
    const tests = new Map<string, Record<string, unknown>>();
    for (const [name, operands] of this.conditions) {
      const test = this.test(name, operands);
      if (test !== undefined) tests.set(name, test);
    }
    if (this.issues.length > 0) return undefined;
    const key = this.takeKey(tests);
    const where = this.whereOf(tests);
    return { key, where, limit, cursor, orderBy };
  }

  /** Groups the parameters by property and operator. */
  private gather(query: unknown): void {
    if (isInstance(query, URLSearchParams)) {
      for (const [name, value] of query as URLSearchParams) this.take(stepsOf(name), value);
    } else if (isRecord(query) && !isInstance(query, Map)) {
      for (const name of Object.keys(query)) this.walk(stepsOf(name), query[name]);
    } else this.refuse([], `a query must be an object or URLSearchParams, not ${describe(query)}.`);
  }

  private walk(steps: readonly string[], value: unknown): void {
    if (this.issues.length >= MAX_ISSUES || value === undefined) return;
    if (steps.length > MAX_STEPS) {
      this.refuse(shown(steps), `names are nested more than ${MAX_STEPS} levels deep.`);
    } else if (isList(value)) {
      if (value.length > this.rules.maxValues) {
        this.refuse(shown(steps), `more than ${this.rules.maxValues} values.`);
      } else for (const item of value) this.take(steps, item);
    } else if (isPlainObject(value)) {
      for (const name of Object.keys(value)) this.walk([...steps, ...stepsOf(name)], value[name]);
    } else this.take(steps, value);
  }

  private take(steps: readonly string[], value: unknown): undefined {
    if (this.issues.length >= MAX_ISSUES) return;
    const { allow, maxLength, maxConditions, maxValues } = this.rules;
    const path = shown(steps);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      return this.refuse(path, `expected a string, not ${describe(value)}.`);
    }
    const own = steps.length === 1 && OWN.includes(steps[0]!);
    const length = own && steps[0] === 'cursor' ? 10 * maxLength : maxLength;
    if (typeof value === 'string' && value.length > length) {
      return this.refuse(path, `it has more than ${length} characters.`);
    }
    if (own) {
      this.own.set(steps[0]!, [...(this.own.get(steps[0]!) ?? []), value]);
      return;
    }
    const whole = steps.join('.');
    const operator = allow.has(whole) ? 'eq' : steps.at(-1)!;
    const name = allow.has(whole) ? whole : steps.slice(0, -1).join('.');
    const field = allow.get(name);
    if (field === undefined) {
      return this.refuse(path, `it is not allowed. Allowed are ${[...allow.keys(), ...OWN].join(', ')}.`);
    }
    if (!field.operators.has(operator)) {
      return this.refuse(path, `the allowed operators of ${name} are ${[...field.operators].join(', ')}.`);
    }
    const operands: Operands = this.conditions.get(name) ?? new Map();
    this.conditions.set(name, operands);
    const values = operands.get(operator);
    if (values === undefined) {
      this.conditionCount++;
      if (this.conditionCount > maxConditions)
        return this.refuse(path, `a query may have at most ${maxConditions} conditions.`);
      operands.set(operator, [value]);
    } else if (values.length >= maxValues) this.refuse(path, `more than ${maxValues} values.`);
    else values.push(value);
  }

  private single(name: string): unknown {
    const given = this.own.get(name);
    if (given !== undefined && given.length > 1) this.refuse([name], 'it occurs twice.');
    return given?.[0];
  }

  private limit(): number {
    const given = this.single('limit');
    if (given === undefined) return this.rules.limit;
    const limit = /^\d{1,9}$/.test(String(given)) ? Number(given) : 0;
    if (limit >= 1 && limit <= this.rules.maxLimit) return limit;
    this.refuse(
      ['limit'],
      `expected a whole number from 1 to ${this.rules.maxLimit}, not ${describe(given)}.`,
    );
    return this.rules.limit;
  }

  private cursor(): string | undefined {
    const given = this.single('cursor');
    if (given === undefined) return undefined;
    if (typeof given === 'string' && /^[\w-]+$/.test(given)) return given;
    return this.refuse(['cursor'], 'it is not a valid cursor. Use the cursor of an earlier page.');
  }

  private orderBy(): { readonly property: string; readonly direction: 'asc' | 'desc' } | undefined {
    const given = this.single('orderBy');
    if (given === undefined) return undefined;
    const [, sign, property = ''] = /^([+-]?)(.*)$/s.exec(String(given)) ?? [];
    const { orderBy } = this.rules;
    if (orderBy.has(property)) return { property, direction: sign === '-' ? 'desc' : 'asc' };
    const known = [...orderBy].join(', ');
    return this.refuse(['orderBy'], known === '' ? 'sorting is not allowed.' : `allowed are ${known}.`);
  }

  /** The conditions on a property, as values of its codec. */
  private test(name: string, operands: Operands): Record<string, unknown> | undefined {
    if (Object.hasOwn(this.rules.key, name))
      return this.refuse([name], 'it is set by the program and cannot be queried.');
    const { codec } = this.rules.allow.get(name)!;
    const test: Record<string, unknown> = {};
    for (const [operator, texts] of operands) {
      const several = operator === 'eq' && texts.length > 1 ? 'in' : operator;
      const path = [...name.split('.'), ...(operator === 'eq' ? [] : [operator])];
      if (Object.hasOwn(test, several)) return this.refuse(path, 'it occurs twice.');
      test[several] = this.operand(name, codec, several, texts, path);
    }
    return test;
  }

  private operand(
    name: string,
    codec: AnyCodec,
    operator: string,
    texts: readonly unknown[],
    path: readonly string[],
  ): unknown {
    if (operator === 'in' || operator === 'notIn' || operator === 'between') {
      const items = texts.length === 1 ? String(texts[0]).split(',') : texts;
      const { maxValues, allow } = this.rules;
      if (!allow.get(name)!.operators.has(operator)) return this.refuse(path, 'it occurs more than once.');
      if (items.length > maxValues) return this.refuse(path, `more than ${maxValues} values.`);
      if (operator === 'between' && items.length !== 2) return this.refuse(path, 'expected two values.');
      return items.map((item) => this.value(codec, item, path));
    }
    if (texts.length > 1) return this.refuse(path, 'it occurs more than once.');
    const [text] = texts;
    if (operator === 'exists') {
      if (text === 'true' || text === true) return true;
      if (text === 'false' || text === false) return false;
      return this.refuse(path, `expected true or false, not ${describe(text)}.`);
    }
    return OF_TEXT.has(operator) ? String(text) : this.value(codec, text, path);
  }

  private value(codec: AnyCodec, given: unknown, path: readonly string[]): unknown {
    try {
      return readValue(codec, given, true);
    } catch (error) {
      return this.refuse(path, (error as Error).message);
    }
  }

  /** Removes and returns the conditions that the key can serve: equality on leading parts, then at most one range. */
  private takeKey(tests: Map<string, Record<string, unknown>>): object {
    const { schema, rules } = this;
    const key: Record<string, unknown> = { ...rules.key };
    let ranges = 1;
    for (const { name } of schema.key.parts) {
      if (Object.hasOwn(key, name)) continue;
      const test = tests.get(name);
      if (test === undefined || !Object.keys(test).every((operator) => OF_KEY.has(operator))) break;
      const condition = keyTest(test);
      const list = isRecord(condition) && isList(condition['in']) ? condition['in'].length : 1;
      if (!this.canPlan({ ...key, [name]: condition })) break;
      ranges *= list;
      if (ranges > rules.maxValues) {
        this.refuse([name], `the lists expand to more than ${rules.maxValues} ranges of keys.`);
        break;
      }
      key[name] = condition;
      tests.delete(name);
      if (isPlainObject(condition) && !Object.hasOwn(condition, 'in')) break;
    }
    return key;
  }

  private canPlan(key: Readonly<Record<string, unknown>>): boolean {
    const { schema } = this;
    try {
      const conditions = parseKeyConditions(schema.name, schema.key, key);
      if (schema.key.substitutions.length === 0) schema.key.plan(conditions);
      return true;
    } catch (error) {
      if (error instanceof RowanError) return false;
      throw error;
    }
  }

  private whereOf(tests: ReadonlyMap<string, Readonly<Record<string, unknown>>>): object {
    const { schema } = this;
    const where: Record<string, unknown> = {};
    for (const [name, test] of tests) {
      try {
        compileCondition(parseWhere(resolverOf(schema), { [name]: test }), schema);
      } catch (error) {
        this.refuse(name.split('.'), (error as Error).message);
        continue;
      }
      const steps = name.split('.');
      let at = where;
      for (const step of steps.slice(0, -1)) {
        at[step] ??= {};
        at = at[step] as Record<string, unknown>;
      }
      at[steps.at(-1)!] = Object.keys(test).join() === 'eq' ? test['eq'] : test;
    }
    return where;
  }
}

/** A condition in the form of `find`. */
function keyTest(test: Readonly<Record<string, unknown>>): unknown {
  if (Object.keys(test).join() === 'eq') return test['eq'];
  const { between, ...rest } = test;
  return isList(between) ? { ...rest, gte: between[0], lte: between[1] } : rest;
}

/** Splits `address.city[in]` into ["address", "city", "in"]; the empty brackets of a list, `ids[]`, are ignored. */
function stepsOf(name: string): string[] {
  const short = name.slice(0, 1000);
  return short.split(/[.[\]]/).filter((step) => step !== '');
}

function shown(steps: readonly string[]): string[] {
  return steps.slice(0, MAX_STEPS).map((step) => step.slice(0, 100));
}
