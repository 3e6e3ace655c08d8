import fc from 'fast-check';
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  defineEntity,
  defineTable,
  desc,
  enumeration,
  fixedBytes,
  fixedString,
  float64,
  hash,
  int8,
  int32,
  int53,
  int64,
  json,
  type KeyedClass,
  part,
  reverse,
  reverseTimestamp,
  salt,
  text,
  textNumber,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../../src/index.js';

const COLUMNS = [
  bigint,
  boolean,
  bytes,
  date,
  decimal(2),
  enumeration({ open: 1, done: 2 }),
  fixedBytes(3),
  fixedString(4),
  float64,
  int8,
  int32,
  int53,
  int64,
  json(),
  text,
  textNumber(5),
  uint32,
  uint64,
  ulid,
  uuid,
] as const;

const PARTS = [
  () => part('a'),
  () => part('b', desc(enumeration({ low: 1, high: 7 }))),
  () => reverseTimestamp('c'),
  () => part('d', int32),
  () => reverse('e'),
  () => hash('f', { keep: true }),
  () => part('g', uuid),
] as const;

interface Column {
  readonly codec: number;
  readonly optional: boolean;
  readonly place: 'own' | 'embedded' | 'map';
}

/** Entities of random keys and columns, each in a table of its own. */
export function randomEntities(count: number, seed: number): KeyedClass[] {
  const plan = fc.record({
    salted: fc.boolean(),
    parts: fc.shuffledSubarray([...PARTS.keys()], { minLength: 1, maxLength: 3 }),
    columns: fc.array(
      fc.record<Column>({
        codec: fc.nat(COLUMNS.length - 1),
        optional: fc.boolean(),
        place: fc.constantFrom('own', 'own', 'embedded', 'map'),
      }),
      { minLength: 1, maxLength: 8 },
    ),
  });
  return fc.sample(plan, { numRuns: count, seed }).map(({ salted, parts, columns }, index) => {
    const table = defineTable({ name: `random${index}`, families: { d: {}, m: {} } });
    const key = [...(salted ? [salt(4)] : []), ...parts.map((at) => PARTS[at]!())];
    return defineEntity({
      name: `Random${index}`,
      table,
      key: key as never,
      columns: (c) =>
        Object.fromEntries(
          columns.map(({ codec: at, optional, place }, i) => {
            const codec = COLUMNS[at]! as typeof text;
            if (place === 'map') return [`p${i}`, c.columns(`m:${i}-`, { key: text, value: codec })];
            if (place === 'embedded') {
              return [`p${i}`, c.embedded('d', (inner) => ({ in: inner.column(`e${i}`, codec).optional() }))];
            }
            const column = c.column(`d:c${i}`, codec);
            return [`p${i}`, optional ? column.optional() : column];
          }),
        ) as never,
    }) as unknown as KeyedClass;
  });
}
