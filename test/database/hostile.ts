/** Wrong arguments for public methods, whatever they are. */

import { RowanError } from '../../src/errors.js';

const key = { tenant: 't', id: '1' };

const cycle: Record<string, unknown> = { ...key };
cycle['self'] = cycle;
cycle['json'] = cycle;
const ring: unknown[] = [];
ring.push(ring);

/** Nested deeper than any stack goes. */
function deep(wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let depth = 0; depth < 20_000; depth++) value = wrap(value);
  return value;
}

const revoked = <T extends object>(target: T): T => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};

const deepObject = deep((inner) => ({ inner })) as object;

/** What an HTTP body or a caller without types may bring. */
const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['a number', 5],
  ['NaN', Number.NaN],
  ['a text', 'text'],
  ['a boolean', true],
  ['a bigint', 1n],
  ['a symbol', Symbol('s')],
  ['a function', () => 1],
  ['a list', []],
  ['a list of null', [null]],
  ['a list of undefined', [undefined, undefined]],
  ['an empty object', {}],
  ['an object without a prototype', Object.create(null)],
  ['a Date that is none', new Date(Number.NaN)],
  ['bytes', Uint8Array.of(1)],
  ['a Map', new Map()],
  ['a key of null', { tenant: null, id: null }],
  ['a key of objects', { tenant: {}, id: [] }],
  ['a key of symbols', { tenant: Symbol('s'), id: '1' }],
  ['a frozen entity', Object.freeze({ ...key, name: 'n' })],
  ['a wrong entity', { ...key, name: 5, json: () => 1, map: {}, history: 'x', list: [5] }],
  ['a revoked object', revoked({})],
  ['a revoked list', revoked([])],
  ['a revoked function', revoked(() => 1)],
  ['a key of revoked objects', { tenant: revoked({}), id: revoked([]), json: revoked({}) }],
  ['a cycle', cycle],
  ['a list in itself', ring],
  ['an object nested 20,000 deep', deepObject],
  ['a list nested 20,000 deep', deep((inner) => [inner])],
  ['an entity of what is nested', { ...key, json: deepObject, name: deepObject, map: deepObject }],
  ['an entity of cycles', { ...key, json: ring, list: ring, history: ring, map: cycle }],
  ['a list of bigints', [1n, 2n]],
  ['an entity of bigint lists', { ...key, name: [1n], json: [1n], list: [1n], history: [1n], map: [1n] }],
  ['operators of bigint lists', { name: { in: [1n, [1n]] }, json: { eq: [1n] }, tenant: { gt: [1n] } }],
  ['the last Date', new Date(8.64e15)],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-1', -1],
  ['99', 99],
  ['a Set', new Set([1])],
  ['a promise', Promise.resolve(1)],
  [
    'an object whose text throws',
    { toString: null, valueOf: null, [Symbol.toPrimitive]: null, constructor: null },
  ],
  [
    'an entity of Maps and Dates',
    { ...key, name: new Map(), json: new Map(), history: new Date(0), at: new Map() },
  ],
  ['lists of null', { ...key, history: [null], list: [null], versions: [null], map: [null] }],
  ['prototype names', JSON.parse('{"tenant":"t","id":"1","__proto__":{"x":1},"constructor":1}')],
];

/** What the code that declares may bring: no proxies, and nothing that was made to be deep. */
export const DECLARED: typeof HOSTILE = HOSTILE.filter(
  ([name]) => !/revoked|20,000|in itself|cycle/.test(name),
);

async function answers(call: () => unknown): Promise<string> {
  try {
    const result = await call();
    const asked = result as { all?: () => unknown; explain?: () => unknown } | undefined;
    // A query says what is wrong with it when it is run.
    if (typeof asked?.all === 'function') await asked.all();
    return 'fine';
  } catch (error) {
    if (error instanceof RowanError) return 'fine';
    return `${(error as Error)?.name}: ${(error as Error)?.message?.slice(0, 120)} ${(error as Error)?.stack?.split('\n')[1]?.trim()}`;
  }
}

/** One argument wrong, the others right; and one too many. */
export async function attack(
  target: object,
  method: string,
  right: readonly unknown[],
  hostile: readonly (readonly [string, unknown])[] = HOSTILE,
): Promise<string[]> {
  const failures: string[] = [];
  for (let at = 0; at <= right.length; at++) {
    for (const [name, value] of hostile) {
      const args = [...right];
      args[at] = value;
      const call = (): unknown => Reflect.apply(Reflect.get(target, method) as () => unknown, target, args);
      const answer = await answers(call);
      if (answer !== 'fine') failures.push(`${method}(argument ${at} = ${name}): ${answer}`);
    }
  }
  return failures;
}
