/** Keys of every sort of element, with what values their parts take and how these compare, without any codec. */

import fc from 'fast-check';
import { compareBytes } from '../../src/bytes/index.js';
import {
  boolean,
  bucket,
  bytes,
  compileKeyLayout,
  date,
  decimal,
  desc,
  enumeration,
  fixedString,
  float64,
  hash,
  int8,
  int32,
  int64,
  type KeyElement,
  type KeyLayout,
  literal,
  part,
  recordType,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  salt,
  text,
  textNumber,
  timeBucket,
  uint8,
  uint32,
  uuid,
} from '../../src/key/index.js';
import type { TestLayout, TestPart } from './brute-force.js';

const ALL = ['eq', 'in', 'range', 'startsWith', 'endsWith'] as const;
const ORDERED = ['eq', 'in', 'range'] as const;
const EXACT = ['eq', 'in'] as const;

const textCompare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const scalarCompare = <T extends number | bigint>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0);

const words = fc.string({
  unit: fc.constantFrom('\0', '\x01', 'a', 'b', '\u00ff', '\ue000', '\u{1f600}'),
  maxLength: 3,
});
const texts = (name: string, direction: 1 | -1 = 1): TestPart => ({
  name,
  values: words,
  compare: textCompare,
  direction,
  asks: ALL,
});
const number = (name: string, values: readonly number[], direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.constantFrom(...values),
  compare: scalarCompare,
  direction,
  asks: ORDERED,
});
export const DAY = 86_400_000;
const times = [-1, 0, 1, DAY - 1, DAY, DAY + 1, 3 * DAY, -DAY, 8.64e15, -8.64e15].map((ms) => new Date(ms));
const time = (name: string, direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.constantFrom(...times),
  compare: (a: Date, b: Date) => a.getTime() - b.getTime(),
  direction,
  asks: ORDERED,
});
const binary: TestPart = {
  name: 'b',
  values: fc.array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 3 }).map((list) => Uint8Array.from(list)),
  compare: compareBytes,
  direction: 1,
  asks: ['eq', 'in', 'range', 'startsWith'],
};

export const compile = (elements: readonly KeyElement[], type?: number): KeyLayout =>
  compileKeyLayout(elements, () => undefined, type);

const customerElements = [salt(4, ['c']), part('c', text), recordType()] as const;
const customer = compile(customerElements, 1);
const orderElements = [
  salt(4, ['c']),
  part('c', text),
  recordType(),
  reverseTimestamp('at'),
  part('n', desc(uint8)),
] as const;
const customers = ['', 'a', 'ab', 'a\0', 'b'].map((c) => customer.encode({ c }));
const orders = ['', 'a', 'ab', 'b'].map((c) =>
  compile(orderElements, 2).encode({ c, at: new Date(0), n: 1 }),
);

/** Keys of every sort of element. */
export const testLayouts: Readonly<Record<string, TestLayout>> = {
  'text and a number behind a salt': {
    elements: [salt(16), part('t', text), part('n', uint32)],
    parts: [texts('t'), number('n', [0, 1, 255, 256, 0xffffffff])],
  },
  'descending text before a number': {
    elements: [part('t', desc(text)), part('n', int32)],
    parts: [texts('t', -1), number('n', [-(2 ** 31), -1, 0, 1, 2 ** 31 - 1])],
  },
  'text at the end, ascending': {
    elements: [part('n', uint8), literal('x'), part('t', text)],
    parts: [number('n', [0, 1, 254, 255]), texts('t')],
  },
  'text at the end, descending': {
    elements: [part('n', desc(uint8)), part('t', desc(text))],
    parts: [number('n', [0, 1, 254, 255], -1), texts('t', -1)],
  },
  'byte strings': {
    elements: [part('b', bytes), part('n', int8)],
    parts: [binary, number('n', [-128, -1, 0, 127])],
  },
  'byte strings at the end': {
    elements: [part('n', uint8), part('b', bytes)],
    parts: [number('n', [0, 255]), binary],
  },
  'orders among customers': {
    elements: orderElements,
    recordType: 2,
    parts: [texts('c'), time('at', -1), number('n', [0, 1, 255], -1)],
    strangers: customers,
  },
  'customers among orders': {
    elements: customerElements,
    recordType: 1,
    parts: [texts('c')],
    strangers: orders,
  },
  'record type at a fixed place behind the part': {
    elements: [part('n', uint8), recordType(), part('t', text)],
    recordType: 7,
    parts: [number('n', [0, 7, 255]), texts('t')],
    strangers: [Uint8Array.of(7, 8, 97), Uint8Array.of(0, 6, 97), Uint8Array.of(255, 8)],
  },
  'a kept digest': {
    elements: [hash(part('t', text), { bytes: 1, keep: true }), part('n', uint8)],
    parts: [texts('t'), number('n', [0, 1, 255])],
  },
  'a digest alone': {
    elements: [hash(part('t', text)), part('n', uint8)],
    parts: [{ ...texts('t'), asks: EXACT }, number('n', [0, 1, 255])],
  },
  'a digest of two parts before them': {
    elements: [hash(['t', 'n'], { algorithm: 'murmur3' }), part('t', text), part('n', uint8)],
    parts: [texts('t'), number('n', [0, 1, 255])],
  },
  'a digest behind a time bucket': {
    elements: [timeBucket('at', '1d'), hash(part('t', text)), part('at', date)],
    parts: [{ ...texts('t'), asks: EXACT }, time('at')],
  },
  'buckets of a time': {
    elements: [bucket('at', 5), part('at', date), part('h', text)],
    parts: [time('at'), texts('h')],
  },
  'buckets of a descending number': {
    elements: [bucket('n', 3), part('n', desc(int64)), part('h', text)],
    parts: [
      {
        name: 'n',
        values: fc.constantFrom(-4n, -1n, 0n, 1n, 5n, 2n ** 63n - 1n, -(2n ** 63n)),
        compare: scalarCompare,
        direction: -1,
        asks: ORDERED,
      },
      texts('h'),
    ],
  },
  'time buckets before host and time': {
    elements: [timeBucket('at', '1d'), part('h', text), part('at', date)],
    parts: [texts('h'), time('at')],
  },
  'salted time buckets, the time descending': {
    elements: [salt(3, ['h']), timeBucket('at', '1d'), part('h', text), reverseTimestamp('at')],
    parts: [texts('h'), time('at', -1)],
  },
  'rising time buckets of a descending time': {
    elements: [timeBucket('at', '1d'), part('h', uint8), reverseTimestamp('at')],
    parts: [number('h', [7]), { ...time('at', -1), asks: ['range'] }],
  },
  'a digest between two numbers': {
    elements: [part('n', uint8), hash(part('t', text)), part('m', uint8)],
    parts: [number('n', [0, 255]), { ...texts('t'), asks: EXACT }, number('m', [0, 255])],
  },
  'reversed text between two numbers': {
    elements: [part('n', uint8), reverse('t'), part('m', uint8)],
    parts: [number('n', [0, 255]), { ...texts('t'), asks: EXACT }, number('m', [0, 255])],
  },
  'descending time buckets with the time behind them': {
    elements: [desc(timeBucket('at', '1d')), reverseTimestamp('at'), part('h', text)],
    parts: [time('at', -1), texts('h')],
  },
  'a time bucket alone': {
    elements: [part('m', text), timeBucket('at', '1d'), part('n', uint8)],
    parts: [
      texts('m'),
      { ...time('at'), image: (ms: number) => Math.floor(ms / DAY) },
      number('n', [0, 255]),
    ],
    ordered: false,
  },
  'reversed text': {
    elements: [reverse('t'), part('n', uint8)],
    parts: [texts('t'), number('n', [0, 255])],
  },
  'reversed domains': {
    elements: [reverseDomain('t'), part('n', uint8)],
    parts: [
      {
        ...texts('t'),
        values: fc.constantFrom('www.a.org', 'a.org', 'xa.org', 'org', '.org', 'a..org', '', 'b.com'),
      },
      number('n', [0, 255]),
    ],
  },
  'reversed digits': {
    elements: [reverseDigits('d', 4, 'string'), part('n', uint8)],
    parts: [
      { ...texts('d'), values: fc.constantFrom('0000', '0001', '1000', '1234', '4321', '9999', '0010') },
      number('n', [0, 255]),
    ],
  },
  'reversed digits of numbers': {
    elements: [reverseDigits('n', 4), part('t', text)],
    parts: [number('n', [0, 1, 10, 12, 120, 9999]), texts('t')],
  },
  'reversed timestamps as text': {
    elements: [part('u', text), reverseTimestamp('at', { as: 'number', text: true })],
    parts: [texts('u'), number('at', [0, 1, 10, 1_700_000_000_000], -1)],
  },
  "Phoenix's salt": {
    elements: [salt(4, { algorithm: 'phoenix' }), part('t', text), part('n', uint8)],
    parts: [texts('t'), number('n', [0, 255])],
  },
  'a salt in the middle': {
    elements: [part('n', uint8), salt(4, ['t']), part('t', text), part('m', uint8)],
    parts: [number('n', [0, 3, 255]), texts('t'), number('m', [0, 255])],
  },
  'salts as prefixes over one part': {
    elements: [salt(['b-', 'a-', 'c-'], ['t']), part('t', text), part('n', uint8)],
    parts: [texts('t'), number('n', [0, 255])],
  },
  'a salt over separate parts': {
    elements: [salt(5, ['t', 'm']), part('t', text), part('n', uint8), part('m', uint8)],
    parts: [texts('t'), number('n', [0, 255]), number('m', [0, 1, 2])],
  },
  'fixed text and digits': {
    elements: [part('f', fixedString(3)), part('n', textNumber(4))],
    parts: [
      { ...texts('f'), values: fc.constantFrom('', 'a', 'a b', 'ab', 'b', '~~~') },
      number('n', [0, 9, 10, 9999]),
    ],
  },
  'decimals, truth values and doubles': {
    elements: [part('d', desc(decimal(1))), part('y', boolean), part('f', float64)],
    parts: [
      {
        name: 'd',
        values: fc.constantFrom('0.0', '-0.1', '0.1', '25.5', '25.6', '-25.6', '6553.6', '-1000000.0'),
        compare: (a: string, b: string) => Number(a) - Number(b),
        direction: -1,
        asks: ORDERED,
      },
      {
        name: 'y',
        values: fc.boolean(),
        compare: (a: boolean, b: boolean) => Number(a) - Number(b),
        direction: 1,
        asks: ORDERED,
      },
      number('f', [Number.NEGATIVE_INFINITY, -1.5, 0, 1e-300, 1.5, Number.POSITIVE_INFINITY]),
    ],
  },
  'enumerations and uuids': {
    elements: [salt(256, ['e']), part('e', enumeration({ open: 1, shut: 255 })), part('u', uuid)],
    parts: [
      {
        name: 'e',
        values: fc.constantFrom('open', 'shut'),
        compare: (a: string, b: string) => (a === b ? 0 : a === 'open' ? -1 : 1),
        direction: 1,
        asks: ORDERED,
      },
      {
        ...texts('u'),
        values: fc.constantFrom(
          '00000000-0000-0000-0000-000000000000',
          'ffffffff-ffff-ffff-ffff-ffffffffffff',
          '12345678-1234-4234-8234-123456789abc',
        ),
        asks: ORDERED,
      },
    ],
  },
};
