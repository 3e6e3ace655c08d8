import { expect, expectTypeOf, it } from 'vitest';
import {
  bucket,
  desc,
  type ElementNames,
  type ElementTypes,
  hash,
  literal,
  part,
  recordType,
  reverseDigits,
  reverseTimestamp,
  salt,
  substitute,
  text,
  timeBucket,
  uint32,
} from '../../src/key/index.js';

const tuple = <const E extends readonly import('../../src/key/index.js').KeyElement[]>(...elements: E) =>
  elements;

it('elements carry the names of the queryable parts, in order', () => {
  const order = tuple(
    salt(16, ['customerId']),
    literal('v1'),
    part('customerId', text),
    recordType(),
    reverseTimestamp('placedAt'),
    desc(part('orderNo', uint32)),
    desc('line'),
  );
  expectTypeOf<ElementNames<typeof order>>().toEqualTypeOf<['customerId', 'placedAt', 'orderNo', 'line']>();
  expect(desc('line')).toEqual(desc(part('line')));
});

it('a digest counts at its place, unless the part stands elsewhere whole', () => {
  const digests = tuple(
    hash('host'),
    hash(part('event', text), { keep: true }),
    bucket('at', 5),
    timeBucket('at', '1h'),
  );
  expectTypeOf<ElementNames<typeof digests>>().toEqualTypeOf<['host', 'event', 'at']>();
  const derived = tuple(
    timeBucket('at', '1d'),
    hash(['a', 'b']),
    part('a', text),
    part('b', text),
    reverseTimestamp('at'),
  );
  expectTypeOf<ElementNames<typeof derived>>().toEqualTypeOf<['a', 'b', 'at']>();
});

it('elements carry the types of the properties', () => {
  const elements = tuple(
    part('n', uint32),
    reverseTimestamp('at'),
    reverseTimestamp('ms', { as: 'number' }),
    reverseDigits('phone', 11, 'string'),
    reverseDigits('big', 20, 'bigint'),
    substitute('host', 'hosts'),
    hash('h', { keep: true }),
    timeBucket('day', '1d'),
  );
  type Types = ElementTypes<typeof elements>;
  expectTypeOf<Types['n']>().toEqualTypeOf<number>();
  expectTypeOf<Types['at']>().toEqualTypeOf<Date>();
  expectTypeOf<Types['ms']>().toEqualTypeOf<number>();
  expectTypeOf<Types['phone']>().toEqualTypeOf<string>();
  expectTypeOf<Types['big']>().toEqualTypeOf<bigint>();
  expectTypeOf<Types['host']>().toEqualTypeOf<string>();
  expectTypeOf<Types['day']>().toEqualTypeOf<Date>();
});

it('a whole part gives the type where a digest of it would take any', () => {
  const elements = tuple(hash('t'), part('t', text));
  expectTypeOf<ElementTypes<typeof elements>['t']>().toEqualTypeOf<string>();
});

it('wrong arguments do not compile', () => {
  // @ts-expect-error a salt has no order
  expect(() => desc(salt(3))).toThrowError(/has no order/);
  // @ts-expect-error an unknown algorithm
  expect(() => hash('a', { algorithm: 'crc32' })).toThrowError(/is not an algorithm/);
  // @ts-expect-error several parts cannot be kept by one digest
  expect(() => hash(['a', 'b'], { keep: true })).toThrowError(/one part only/);
});
