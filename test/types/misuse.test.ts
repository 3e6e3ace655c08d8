import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scaled } from '../proof/scale.js';
import { declared, MODES, ROOT, STRICT, tsc, write } from './compiler.js';

const FIXTURES = [
  'row-key.ts',
  'prefix.ts',
  'properties.ts',
  'projection.ts',
  'inputs.ts',
  'row-key-once.ts',
  'indexes.ts',
  'scattered.ts',
  'defaults.ts',
  'denormalized.ts',
  'relations.ts',
  'statics.ts',
].map((name) => join(ROOT, 'test/types/fixtures', name));

const [legacy, standard] = MODES.map(([mode, options]) => ({ mode, options })) as [Mode, Mode];
interface Mode {
  readonly mode: string;
  readonly options: readonly string[];
}

const ALL: readonly (readonly [Mode, boolean])[] = [
  [standard, false],
  [legacy, true],
  [legacy, false],
  [standard, true],
];

/** The first is what a new project has; or each pair of values of both options. */
const PAIRS = scaled(ALL.slice(0, 1), ALL, ALL);

const compiled = new Map<string, Promise<Map<string, string>>>();

/** The messages of the misuses and mistakes, compiled together and once, by `file:line`. */
function messagesOf({ mode, options }: Mode, exact: boolean): Promise<Map<string, string>> {
  const id = `${mode} ${exact}`;
  const known = compiled.get(id) ?? compile(options, exact);
  compiled.set(id, known);
  return known;
}

async function compile(options: readonly string[], exact: boolean): Promise<Map<string, string>> {
  const files = FIXTURES.map((file) =>
    write(`misuse/${basename(file)}`, declared(readFileSync(file, 'utf8'))),
  );
  const mistakes = write(
    `misuse/${MISTAKES_FILE}`,
    declared(MISTAKES_PRELUDE + MISTAKES.map(([code]) => code).join('\n')),
  );
  const exactness = ['--exactOptionalPropertyTypes', String(exact)];
  const { output } = await tsc(...STRICT, ...options, ...exactness, ...files, mistakes);
  const messages = new Map<string, string>();
  let place = '';
  for (const text of output.split('\n').filter((line) => line !== '')) {
    const head = /([\w-]+\.ts)\((\d+),\d+\): error/.exec(text);
    if (head !== null) place = `${head[1]}:${head[2]}`;
    messages.set(place, `${messages.get(place) ?? ''}${text}\n`);
  }
  return messages;
}

it.each(PAIRS.map(([mode, exact]) => ({ ...mode, exact })))(
  'misuses of keys, queries and columns do not compile, everything else does ($mode, exactOptionalPropertyTypes $exact)',
  async ({ mode, options, exact }) => {
    const messages = await messagesOf({ mode, options }, exact);
    const others = [...messages].filter(([place]) => !place.startsWith(`${MISTAKES_FILE}:`));
    expect(others.map(([, text]) => text).join('')).toBe('');
  },
);

describe('the messages of the commonest mistakes', () => {
  it.each(scaled(MODES.slice(1), MODES, MODES))('say what to write, with %s', async (mode, options) => {
    const found = await messagesOf({ mode, options }, false);
    let line = MISTAKES_PRELUDE.split('\n').length;
    for (const [code, message] of MISTAKES) {
      const last = line + code.split('\n').length;
      const texts: string[] = [];
      for (let at = line; at < last; at++) texts.push(found.get(`${MISTAKES_FILE}:${at}`) ?? '');
      expect(texts.join('\n'), `${mode}: ${code}`).toMatch(message);
      line = last;
    }
  });
});

const MISTAKES_FILE = 'mistakes.ts';

const MISTAKES_PRELUDE = `import { Column, Entity, Index, part, type Related, reverseTimestamp, RowKey } from '../../../decorators/index.js';
import { int32, text } from '../../../src/codec/index.js';
import { uint32 } from '../../../src/key/index.js';
import type { EntityQuery, ShapeOptions } from '../../../src/query/index.js';
import type { CheckedPrefix, KeyedClass, KeyOf, KeyQuery } from '../../../src/schema/entity-types.js';
interface Repository<C extends KeyedClass> {
  get(key: KeyOf<C>, options?: ShapeOptions<C>): unknown;
  find<Q extends KeyQuery<C>>(prefix: Q & CheckedPrefix<C, Q>): EntityQuery<C>;
}
declare const orders: Repository<typeof Order>;
class Order {
  declare static readonly key: ['customerId', 'placedAt', 'orderNo'];
  customerId!: string; placedAt!: Date; orderNo!: number;
  customer?: Related<Person> | null;
}
class Person { friends?: Related<Person[]>; }
`;

const MISTAKES: readonly (readonly [string, RegExp])[] = [
  [
    'declare const ofInstance: Repository<Order>;',
    /Type 'Order' is missing .* from type 'TypeofClass<object>'/,
  ],
  [
    'orders.find({ placedAt: new Date() });',
    /\\"placedAt\\" needs a condition on \\"customerId\\", which precedes it in the key\./,
  ],
  [
    "orders.find({ customerId: { startsWith: 'a' }, placedAt: new Date() });",
    /\\"placedAt\\" follows a range on \\"customerId\\"\. Only the last part with a condition may have a range\./,
  ],
  [
    "orders.find({ customerId: 'a', status: 'open' });",
    /\\"status\\" is no part of the key\. The parts are: customerId, placedAt, orderNo\. Put conditions on other columns into where\(\)\./,
  ],
  [
    "orders.find({ customerId: 'a' as string | undefined, placedAt: new Date() });",
    /\\"customerId\\" may be undefined\. Undefined never means \\"any\\": leave the part out, or give a value\./,
  ],
  [
    "orders.find({ customerId: 'a' }).orderBy('placedOn');",
    /'"placedOn"' is not assignable to parameter of type '"customerId" \| "orderNo" \| "placedAt"'/,
  ],
  [
    "orders.find({ customerId: 'a' }).groupBy('placedOn');",
    /'"placedOn"' is not assignable to parameter of type '"customerId" \| "orderNo" \| "placedAt"'/,
  ],
  [
    "orders.find({ customerId: 'a' }).sum('orderN');",
    /'"orderN"' is not assignable to parameter of type '"customerId" \| "orderNo"'/,
  ],
  [
    "orders.find({ customerId: 'a' }).with('custmer');",
    /^\S+ error TS2345: Argument of type '"custmer"' is not assignable to parameter of type '"customer" \| "customer\.friends" \| "customer\.friends\.friends"/,
  ],
  [
    "orders.find({ customerId: 'a' }).with('customer', 'customer.frends');",
    /^\S+ error TS2345: Argument of type '"customer\.frends"' is not assignable to parameter of type '"customer" \| "customer\.friends" /,
  ],
  [
    "orders.find({ customerId: 'a' }).with({ custmer: true });",
    /^\S+ error TS2561: .* 'custmer' does not exist in type .*\. Did you mean to write 'customer'\?/,
  ],
  [
    "orders.find({ customerId: 'a' }).with({ customer: true }, { customer: true });",
    /^\S+ error TS2554: Expected 1 arguments, but got 2/,
  ],
  [
    "orders.find({ customerId: 'a' }).with({ customer: true }, 'customer.friends');",
    /^\S+ error TS2345: Argument of type '\{ customer: boolean; \}' is not assignable to parameter of type '"customer\.friends"'/,
  ],
  [
    "orders.get({ customerId: 'a', placedAt: new Date(), orderNo: 1 }, { with: ['custmer'] });",
    /'"custmer"' is not assignable to type '"customer" \| "customer\.friends" \| "customer\.friends\.friends"/,
  ],
  ["orders.find({ customerId: 'a', placedAt: 5 });", /Type 'number' is not assignable to type '.*Date/],
  [
    "orders.get({ customerId: 'a', placedAt: new Date() });",
    /Property 'orderNo' is missing in type .* but required in type 'KeyOf<typeof Order>'/,
  ],
  [
    "@RowKey(part('id'))\nexport class NoKey { id!: string; }",
    /The class does not list its key's parts\. Write: declare static readonly key: \['id'\]/,
  ],
  [
    "@RowKey(part('a'), reverseTimestamp('b'))\nexport class Order2 { declare static readonly key: ['b', 'a']; a!: string; b!: Date; }",
    /The parts of @RowKey are not those of the class's key\. Write: declare static readonly key: \['a', 'b'\]/,
  ],
  [
    "@RowKey(part('a'), part('b'))\nexport class NoB { declare static readonly key: ['a', 'b']; a!: string; }",
    /\\"b\\" is a part of the row key, but the class has no such property/,
  ],
  [
    "@RowKey(part('a', uint32))\nexport class Wrong { declare static readonly key: ['a']; a!: string; }",
    /The type of \\"a\\" is not the one that its codec in the row key stores/,
  ],
  [
    "@RowKey(part('a'))\nexport class Optional { declare static readonly key: ['a']; a?: string; }",
    /\\"a\\" is a part of the key: it may not be optional or undefined/,
  ],
  [
    "@RowKey(part('ix'))\nexport class Misspelt { declare static readonly key: ['id']; id!: string; }",
    /\\"ix\\" is a part of the row key, but the class has no such property/,
  ],
  [
    "@RowKey(part('iy'))\nexport class MisspeltAlone { id!: string; }",
    /\\"iy\\" is a part of the row key, but the class has no such property/,
  ],
  [
    "@Index('byName', [part('nmae')])\nexport class MisspeltPart { declare static readonly indexes: { byName: ['name'] }; name!: string; }",
    /\\"nmae\\" is a part of the index, but the class has no such property/,
  ],
  [
    "@Index('byName', [part('name')])\nexport class NotListed { name!: string; }",
    /The class does not list the parts of the index \\"byName\\"\. Write: declare static readonly indexes: \{ byName: \['name'\] \}/,
  ],
  [
    "@Entity({ table: Order })\nexport class Typed {\n  @Column('d:a', int32) a!: string;\n}",
    /Type 'string' is not assignable to type 'number'/,
  ],
];

it('covers at least ten misuses of keys and queries', () => {
  const misuses = FIXTURES.map((file) => readFileSync(file, 'utf8').split('@ts-expect-error').length - 1);
  expect(misuses[0]! + misuses[1]!).toBeGreaterThanOrEqual(20);
});
