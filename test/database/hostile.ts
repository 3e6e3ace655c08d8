/** Wrong arguments for public methods, whatever they are. */

import { RowanError } from '../../src/errors.js';

const key = { tenant: 't', id: '1' };

/** What an HTTP body or a caller without types may bring. */
export const HOSTILE: readonly (readonly [string, unknown])[] = [
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
  ['prototype names', JSON.parse('{"tenant":"t","id":"1","__proto__":{"x":1},"constructor":1}')],
];

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

/** Every combination of up to `arity` hostile arguments that tells something: one wrong, the others right. */
export async function attack(target: object, method: string, right: readonly unknown[]): Promise<string[]> {
  const failures: string[] = [];
  for (let at = 0; at <= right.length; at++) {
    for (const [name, value] of HOSTILE) {
      const args = [...right];
      args[at] = value;
      const call = (): unknown => Reflect.apply(Reflect.get(target, method) as () => unknown, target, args);
      const answer = await answers(call);
      if (answer !== 'fine') failures.push(`${method}(argument ${at} = ${name}): ${answer}`);
    }
  }
  return failures;
}
