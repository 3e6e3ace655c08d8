/** The query of an HTTP request -> what the query API takes. */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { CONDITION_OPERATORS, parseWhere } from '../query/condition.js';
import { compileCondition } from '../query/evaluate.js';
import { parseKeyConditions, resolverOf, type Where } from '../query/index.js';
import { orderedProperty } from '../query/sort.js';
import type { EntityOf, KeyedClass, KeyOf, KeyPrefix, PropertiesOf } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { checkOptions, describe, isInstance, isList, isPlainObject, isRecord } from '../table/checks.js';
import { partCodec, schemaOf } from './fields.js';
import { type Issue, MOST_ISSUES, refusal } from './standard.js';
import { type AnyCodec, isText, readValue, valueSchema } from './values.js';

/** An operator of an HTTP query: `total[gte]=5`; without one a value is asked for (`eq`). */
export type QueryOperator = (typeof CONDITION_OPERATORS)[number];

const OPERATORS: readonly QueryOperator[] = CONDITION_OPERATORS;
const OF_TEXT: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);
const OF_ALL: readonly QueryOperator[] = ['eq', 'ne', 'in', 'notIn', 'exists'];
/** The operators that the conditions on a key know. */
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

/** A property that may be asked: a column, a part of the key, or, with a dot, a column of an embedded object. */
export type QueryField<C extends KeyedClass> =
  | PropertiesOf<EntityOf<C>>
  | `${PropertiesOf<EntityOf<C>>}.${string}`;

/** What an HTTP query may ask. */
export interface QueryRules<C extends KeyedClass> {
  /**
   * The properties that may be asked; of one with every operator that goes with its values, `'status'`, or with some,
   * `{ total: ['gte', 'lt'] }`. All others are refused.
   */
  readonly allow: readonly (QueryField<C> | { readonly [P in QueryField<C>]?: readonly QueryOperator[] })[];
  /** Leading parts of the key that the program gives itself, a tenant. A query cannot ask for others. */
  readonly key?: Partial<KeyOf<C>>;
  /** Properties to sort by. Default none: rows come in the order of the key. */
  readonly orderBy?: readonly QueryField<C>[];
  /** Rows of a page, where the query does not say; default 20. */
  readonly limit?: number;
  /** The greatest limit that a query may ask for; default 100. */
  readonly maxLimit?: number;
  /** Conditions that a query may have; default 20. */
  readonly maxConditions?: number;
  /** Values that a list (`in`) may have, and key ranges that lists may come to; default 50. */
  readonly maxValues?: number;
  /** Characters that a value may have; default 1000. Of a cursor ten times as many. */
  readonly maxLength?: number;
}

/** What was asked, as `find`, `where` and `page` take it. */
export interface ParsedQuery<C extends KeyedClass> {
  /** Conditions on leading parts of the key, with those that the program gave. */
  readonly key: KeyPrefix<C>;
  /** All other conditions. */
  readonly where: Where<C>;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly orderBy: { readonly property: QueryField<C>; readonly direction: 'asc' | 'desc' } | undefined;
}

/** The query of a request, as frameworks give it: `URLSearchParams`, or an object of texts, flat or put into each other. */
export type QuerySource = URLSearchParams | Readonly<Record<string, unknown>>;

/**
 * Reads the query of an HTTP request: `?status=open&total[gte]=5&placedAt[in]=…&limit=20&cursor=…&orderBy=-total`. Texts are
 * read as the values of their columns. What is not allowed, no value of its column, too long or too much is refused, each with
 * its path.
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
    // What cannot be read: an object with a getter that throws.
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

/** A property that may be asked. */
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
  if (!isList(given.allow)) throw wrong(`allow is a list of properties, not ${describe(given.allow)}.`);
  const allow = new Map<string, AskedField>();
  for (const item of given.allow) {
    const fields = typeof item === 'string' ? { [item]: undefined } : item;
    if (!isRecord(fields))
      throw wrong(`allow holds ${describe(item)}. Give "status", or { status: ["eq"] }.`);
    for (const [name, operators] of Object.entries(fields)) {
      if (OWN.includes(name))
        throw wrong(`"${name}" has a meaning of its own in a query and cannot be allowed.`);
      const codec = askedCodec(schema, name);
      if (codec === undefined) throw wrong(`"${name}" is no column of one value and no part of the key.`);
      const unknown = operators?.find((operator) => !OPERATORS.includes(operator as QueryOperator));
      if (unknown !== undefined)
        throw wrong(`${describe(unknown)} is no operator. Write one of ${OPERATORS.join(', ')}.`);
      allow.set(name, { codec, operators: new Set(operators ?? operatorsOf(schema, name, codec)) });
    }
  }
  const count = (
    name: 'limit' | 'maxLimit' | 'maxConditions' | 'maxValues' | 'maxLength',
    usual: number,
  ): number => {
    const value = given[name] ?? usual;
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw wrong(`${name} is a whole number above 0, not ${describe(value)}.`);
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

/** The codec of a part of the key, or of a column of one value. */
function askedCodec(schema: EntitySchema, name: string): AnyCodec | undefined {
  if (schema.key.parts.some((part) => part.name === name)) return partCodec(schema, name);
  const column = schema.columnsByProperty.get(name);
  const single = column?.kind === 'column' || column?.kind === 'counter';
  return single && resolverOf(schema).kindOf(name) === 'value' ? (column.codec as AnyCodec) : undefined;
}

/** Every operator that goes with the values of a property. */
function operatorsOf(schema: EntitySchema, name: string, codec: AnyCodec): readonly QueryOperator[] {
  if (schema.key.substitutions.some(({ part }) => part === name)) return ['eq', 'in'];
  if (isText(codec)) return OPERATORS;
  // Of a codec of somebody else nobody knows whether its values have an order.
  const known = Object.keys(valueSchema(codec)).length > 0;
  return known ? OPERATORS.filter((operator) => !OF_TEXT.has(operator)) : OF_ALL;
}

/** What is asked of one property: the texts by operator. */
type Asked = Map<string, unknown[]>;

/** Steps of a name that is put into another. */
const MOST_STEPS = 8;

class QueryParser {
  readonly issues: Issue[] = [];
  private readonly asked = new Map<string, Asked>();
  private readonly own = new Map<string, unknown[]>();
  private conditions = 0;

  constructor(
    private readonly schema: EntitySchema,
    private readonly rules: CheckedRules,
  ) {}

  refuse(path: readonly PropertyKey[], message: string): undefined {
    if (this.issues.length < MOST_ISSUES) this.issues.push({ path, message });
  }

  /** Undefined where it is refused. */
  parse(query: unknown): object | undefined {
    this.gather(query);
    if (this.issues.length > 0) return undefined;
    const limit = this.limit();
    const cursor = this.cursor();
    const orderBy = this.orderBy();
    if (cursor !== undefined && orderBy !== undefined) {
      this.refuse(['cursor'], 'a page goes by the key: it does not go together with orderBy.');
    }
    const tests = new Map<string, Record<string, unknown>>();
    for (const [name, asked] of this.asked) {
      const test = this.test(name, asked);
      if (test !== undefined) tests.set(name, test);
    }
    if (this.issues.length > 0) return undefined;
    const key = this.takeKey(tests);
    const where = this.whereOf(tests);
    return { key, where, limit, cursor, orderBy };
  }

  /** Sorts what was given by property and operator. */
  private gather(query: unknown): void {
    if (isInstance(query, URLSearchParams)) {
      for (const [name, value] of query as URLSearchParams) this.take(stepsOf(name), value);
    } else if (isRecord(query) && !isInstance(query, Map)) {
      for (const name of Object.keys(query)) this.walk(stepsOf(name), query[name]);
    } else this.refuse([], `a query is an object or URLSearchParams, not ${describe(query)}.`);
  }

  private walk(steps: readonly string[], value: unknown): void {
    if (this.issues.length >= MOST_ISSUES || value === undefined) return;
    if (steps.length > MOST_STEPS) {
      this.refuse(shown(steps), `names are put into each other more than ${MOST_STEPS} deep.`);
    } else if (isList(value)) {
      if (value.length > this.rules.maxValues) {
        this.refuse(shown(steps), `more than ${this.rules.maxValues} values are given.`);
      } else for (const item of value) this.take(steps, item);
    } else if (isPlainObject(value)) {
      for (const name of Object.keys(value)) this.walk([...steps, ...stepsOf(name)], value[name]);
    } else this.take(steps, value);
  }

  private take(steps: readonly string[], value: unknown): undefined {
    if (this.issues.length >= MOST_ISSUES) return;
    const { allow, maxLength, maxConditions, maxValues } = this.rules;
    const path = shown(steps);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      return this.refuse(path, `a text is wanted, not ${describe(value)}.`);
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
      return this.refuse(path, `it cannot be asked. Ask for ${[...allow.keys(), ...OWN].join(', ')}.`);
    }
    if (!field.operators.has(operator)) {
      return this.refuse(path, `the operators of ${name} are ${[...field.operators].join(', ')}.`);
    }
    const asked: Asked = this.asked.get(name) ?? new Map();
    this.asked.set(name, asked);
    const values = asked.get(operator);
    if (values === undefined) {
      this.conditions++;
      if (this.conditions > maxConditions)
        return this.refuse(path, `a query has at most ${maxConditions} conditions.`);
      asked.set(operator, [value]);
    } else if (values.length >= maxValues) this.refuse(path, `more than ${maxValues} values are given.`);
    else values.push(value);
  }

  private single(name: string): unknown {
    const given = this.own.get(name);
    if (given !== undefined && given.length > 1) this.refuse([name], 'it is given twice.');
    return given?.[0];
  }

  private limit(): number {
    const given = this.single('limit');
    if (given === undefined) return this.rules.limit;
    const limit = /^\d{1,9}$/.test(String(given)) ? Number(given) : 0;
    if (limit >= 1 && limit <= this.rules.maxLimit) return limit;
    this.refuse(
      ['limit'],
      `a whole number from 1 to ${this.rules.maxLimit} is wanted, not ${describe(given)}.`,
    );
    return this.rules.limit;
  }

  private cursor(): string | undefined {
    const given = this.single('cursor');
    if (given === undefined) return undefined;
    if (typeof given === 'string' && /^[\w-]+$/.test(given)) return given;
    return this.refuse(['cursor'], 'it is no cursor. Give the one of an earlier page.');
  }

  private orderBy(): { readonly property: string; readonly direction: 'asc' | 'desc' } | undefined {
    const given = this.single('orderBy');
    if (given === undefined) return undefined;
    const [, sign, property = ''] = /^([+-]?)(.*)$/s.exec(String(given)) ?? [];
    const { orderBy } = this.rules;
    if (orderBy.has(property)) return { property, direction: sign === '-' ? 'desc' : 'asc' };
    const known = [...orderBy].join(', ');
    return this.refuse(['orderBy'], known === '' ? 'rows cannot be sorted.' : `rows are sorted by ${known}.`);
  }

  /** What is asked of a property, in values of its codec. */
  private test(name: string, asked: Asked): Record<string, unknown> | undefined {
    if (Object.hasOwn(this.rules.key, name)) return this.refuse([name], 'it is given, and cannot be asked.');
    const { codec } = this.rules.allow.get(name)!;
    const test: Record<string, unknown> = {};
    for (const [operator, texts] of asked) {
      const several = operator === 'eq' && texts.length > 1 ? 'in' : operator;
      const path = [...name.split('.'), ...(operator === 'eq' ? [] : [operator])];
      if (Object.hasOwn(test, several)) return this.refuse(path, 'it is asked twice.');
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
      if (!allow.get(name)!.operators.has(operator)) return this.refuse(path, 'it is given more than once.');
      if (items.length > maxValues) return this.refuse(path, `more than ${maxValues} values are given.`);
      if (operator === 'between' && items.length !== 2) return this.refuse(path, 'two values are wanted.');
      return items.map((item) => this.value(codec, item, path));
    }
    if (texts.length > 1) return this.refuse(path, 'it is given more than once.');
    const [text] = texts;
    if (operator === 'exists') {
      if (text === 'true' || text === true) return true;
      if (text === 'false' || text === false) return false;
      return this.refuse(path, `true or false is wanted, not ${describe(text)}.`);
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

  /** Takes the tests that the key can serve: of leading parts, equality, then at most one range. */
  private takeKey(tests: Map<string, Record<string, unknown>>): object {
    const { schema, rules } = this;
    const key: Record<string, unknown> = { ...rules.key };
    let ranges = 1;
    for (const { name } of schema.key.parts) {
      if (Object.hasOwn(key, name)) continue;
      const test = tests.get(name);
      if (test === undefined || !Object.keys(test).every((operator) => OF_KEY.has(operator))) break;
      const asked = keyTest(test);
      const list = isRecord(asked) && isList(asked['in']) ? asked['in'].length : 1;
      if (!this.canPlan({ ...key, [name]: asked })) break;
      ranges *= list;
      if (ranges > rules.maxValues) {
        this.refuse([name], `the lists come to more than ${rules.maxValues} ranges of keys.`);
        break;
      }
      key[name] = asked;
      tests.delete(name);
      if (isPlainObject(asked) && !Object.hasOwn(asked, 'in')) break;
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

/** A test as `find` takes it. */
function keyTest(test: Readonly<Record<string, unknown>>): unknown {
  if (Object.keys(test).join() === 'eq') return test['eq'];
  const { between, ...rest } = test;
  return isList(between) ? { ...rest, gte: between[0], lte: between[1] } : rest;
}

/** ["address", "city", "in"] of `address.city[in]`; the brackets of a list, `ids[]`, are no step. */
function stepsOf(name: string): string[] {
  const short = name.slice(0, 1000);
  return short.split(/[.[\]]/).filter((step) => step !== '');
}

function shown(steps: readonly string[]): string[] {
  return steps.slice(0, MOST_STEPS).map((step) => step.slice(0, 100));
}
