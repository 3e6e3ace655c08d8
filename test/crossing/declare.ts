/** Random declarations that have features two by two, and more: what a declaration has is drawn one by one. */

import {
  Default,
  defineEntity,
  defineTable,
  type HookMoment,
  Reference,
  upgrade,
} from '../../decorators/index.js';
import type { SummaryDefinitions } from '../../decorators/summary.js';
import { avro, date, enumeration, int32, text, uint8 } from '../../src/codec/index.js';
import {
  bucket,
  desc,
  hash,
  type KeyElement,
  literal,
  part,
  recordType,
  reverse,
  reverseTimestamp,
  salt,
  substitute,
  timeBucket,
} from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { Random } from '../query/model/random.js';

export type Values = Record<string, unknown>;

export const DAY = 86_400_000;

/** What a declaration may have; each is there or not. */
const FEATURES = [
  'counter',
  'version',
  'stamps',
  'softDelete',
  'ttl',
  'ownTtl',
  'maps',
  'packed',
  'versions',
  'embedded',
  'json',
  'avro',
  'defaults',
  'hooks',
  'copies',
  'index',
  'unique',
  'several',
  'moves',
  'recordType',
  'past',
  'upgrade',
  'summary',
  'changes',
  'lists',
  'partial',
  'eventual',
  'rules',
  'computed',
] as const;
export type Feature = (typeof FEATURES)[number];

export interface Declared {
  readonly features: ReadonlySet<Feature>;
  readonly renew: boolean;
  readonly main: KeyedClass;
  /** A record type beside it, with the key's first part in common. */
  readonly sibling: KeyedClass | undefined;
  /** What `copy` is copied from. */
  readonly source: KeyedClass | undefined;
  /** What becomes of rows whose source is deleted. */
  readonly rule: Rule | undefined;
  /** Every key that is used. */
  readonly keys: readonly Values[];
  /** The part that points are packed by. */
  readonly window: string | undefined;
}

export type Rule = 'restrict' | 'cascade' | 'setNull';

/** Milliseconds that an entity with a time to live has. */
export const LIFE = 100_000;
export const KEPT_VERSIONS = 3;

const TEXTS = ['a', 'a\0b', 'é'];
const TIMES = [0, DAY, 3 * DAY].map((ms) => new Date(ms));

interface DrawnPart {
  readonly name: string;
  readonly element: KeyElement;
  readonly values: readonly unknown[];
  /** The column that holds what the key cannot give back. */
  readonly stored: 'text' | undefined;
}

function drawLead(random: Random): DrawnPart {
  const name = 'k0';
  const plain = { name, values: TEXTS, stored: undefined };
  switch (random.below(5)) {
    case 0:
      return { ...plain, element: reverse(name) };
    case 1:
      return { ...plain, element: part(name, desc(text)) };
    case 2:
      return { ...plain, element: substitute(name, 'crossing') };
    case 3:
      return { ...plain, element: hash(name, { bytes: 1 }), stored: 'text' };
    default:
      return { ...plain, element: part(name) };
  }
}

function drawSecond(random: Random, packed: boolean): DrawnPart {
  const name = 'k1';
  if (packed) return { name, element: timeBucket(name, '1d'), values: TIMES, stored: undefined };
  switch (random.below(4)) {
    case 0:
      return { name, element: part(name, uint8), values: [0, 1, 255], stored: undefined };
    case 1:
      return { name, element: part(name, desc(uint8)), values: [0, 7, 255], stored: undefined };
    case 2:
      return { name, element: reverseTimestamp(name), values: TIMES, stored: undefined };
    default:
      return { name, element: part(name, date), values: TIMES, stored: undefined };
  }
}

const LineType = avro.record('Line', { s: avro.string, n: avro.int });
const STATES = enumeration({ open: 1, shut: 2 });

/** What the upgrade makes of a size; twice it would be another one. */
export const upgraded = (size: string): string => `${size}+`;

/** What is computed of a row: of columns, of the entries of a Map, and of a column that moves. Nothing of rows that have no `a`. */
export const saidOf = ({ a, q, map, away }: Values): string | undefined =>
  a == null
    ? undefined
    : [a, q ?? 'none', (map as Map<string, number> | undefined)?.size ?? 0, away ?? ''].join('/');

/** Of a text in `d:z` another one in `e:z`. */
const sizes = (writeBack: boolean) =>
  upgrade(
    1,
    { old: (c) => ({ size: c.column('d:z', text).optional() }), sets: ['size'], writeBack },
    ({ size }) => ({ size: size == null ? undefined : upgraded(size) }),
  );

/** Figures of rows by what they say themselves, and by what is copied into them. */
const summariesOf = (copies: boolean, computed: boolean): SummaryDefinitions => ({
  byState: {
    by: ['state'],
    figures: { rows: 'count', total: { sum: 'q' }, least: { min: 'q' }, greatest: { max: 'q' } },
  },
  ofX: { by: [], figures: { rows: 'count', sized: { count: 'q' } }, where: { a: 'x' } },
  ...(copies ? { byCopy: { by: ['copy', 'state'], figures: { rows: 'count' } } } : {}),
  ...(computed ? { bySaid: { by: ['said'], figures: { rows: 'count', total: { sum: 'q' } } } } : {}),
});

/** What programs of servers leave out: times are those of several machines, and the positions of feeds have another form. */
export const NOT_ON_SERVERS: readonly Feature[] = ['stamps', 'ttl', 'ownTtl', 'changes'];

/**
 * The declarations of a seed; `moved`: as they are later, with columns at another place, of the next version; `settled`: when
 * all of its rows are of that version; `without`: features that are left out.
 */
export function declare(
  random: Random,
  moved: boolean,
  settled = false,
  without: readonly Feature[] = [],
): Declared {
  const features = new Set(FEATURES.filter(() => random.chance(0.32)));
  for (const feature of without) features.delete(feature);
  // Upgrades read families that keep one version, of columns that do not move at the same time.
  if (features.has('past') || features.has('moves')) features.delete('upgrade');
  // Copies follow their sources, and no write computes anew.
  if (features.has('copies')) features.delete('computed');
  const has = (feature: Feature): boolean => features.has(feature);
  const renew = random.chance(0.3);
  const lead = drawLead(random);
  const second = drawSecond(random, has('packed'));
  const head: KeyElement[] = [lead.element];
  if (random.chance(0.5)) head.splice(random.below(2), 0, salt(1 + random.below(4), ['k0']));
  if (has('recordType')) head.push(recordType());
  const tail: KeyElement[] = [second.element];
  if (typeof second.values[0] === 'number' && random.chance(0.4)) tail.unshift(bucket('k1', 2));
  if (random.chance(0.2)) tail.unshift(literal('~'));
  const unsalted = !head.some((element) => element.kind === 'salt');
  if (unsalted && random.chance(0.3)) tail.unshift(salt(2, ['k1']));
  const versions = has('past') ? 50 : 1;
  const kept = has('past') ? { versions, keepDeletedCells: 'TRUE' as const } : { versions };
  const table = defineTable({
    name: 'crossing',
    families: { d: kept, e: kept, p: kept, h: { ...kept, versions: has('past') ? 50 : KEPT_VERSIONS } },
  });
  const rule = has('rules') ? random.pick<Rule>(['restrict', 'cascade', 'setNull']) : undefined;
  const source =
    has('copies') || has('rules')
      ? defineEntity({
          name: 'Source',
          table: defineTable({ name: 'sources', families: { d: kept } }),
          key: [part('id')],
          columns: (c) => ({ name: c.column('d:n', text).optional() }),
        })
      : undefined;
  const stamp = (entity: object): void => {
    const values = entity as Values;
    values['hooked'] = `${String(values['a'])}!`;
  };
  const hooks = { beforePut: stamp, beforeUpdate: stamp } satisfies Partial<
    Record<HookMoment, (entity: object) => void>
  >;
  const isLater = moved && has('upgrade');
  /** A place, or the next one with what it was. */
  const at = <Place extends string>(place: Place, next: string): readonly [Place, { was?: Place[] }] =>
    moved && has('moves') ? [next as Place, { was: [place] }] : [place, {}];
  const [mapAt, mapWas] = at('p:m.', 'e:m2.');
  const [pointsAt, pointsWas] = at('p:p.', 'd:p2.');
  const [jsonAt, jsonWas] = at('d:j', 'e:j2');
  const [lineAt, lineWas] = at('d:l', 'p:l2');
  const main = defineEntity({
    name: 'Main',
    table,
    ...(has('recordType') ? { recordType: 1 } : {}),
    ...(has('ttl') ? { ttl: LIFE, renewTtl: renew } : {}),
    ...(has('past') && random.chance(0.5) ? { marker: 'p' } : {}),
    ...(has('changes') ? { changes: { keep: 1000 * DAY } } : {}),
    ...(isLater ? { schemaVersion: 2, upgrades: settled ? [] : [sizes(random.chance(0.5))] } : {}),
    key: [...head, ...tail] as unknown as readonly [],
    columns: (c) => ({
      a: c.column('d:a', text).optional(),
      q: c.column('e:q', int32).optional(),
      state: c.column('d:s', STATES).optional(),
      away: c
        .column(moved && has('moves') ? 'e:w2' : 'd:w', text, {
          ...(moved && has('moves') ? { was: ['d:w'] } : {}),
        })
        .optional(),
      ...(has('upgrade') ? { size: c.column(isLater ? 'e:z' : 'd:z', text).optional() } : {}),
      ...(has('counter') ? { n: c.counter('d:n') } : {}),
      ...(has('version') ? { version: c.version('d:v') } : {}),
      ...(has('stamps') ? { created: c.createdAt('d:c'), updated: c.updatedAt('e:u') } : {}),
      ...(has('softDelete') ? { deleted: c.deletedAt('d:x') } : {}),
      ...(has('ownTtl') ? { ttl: c.ttl() } : {}),
      ...(has('maps') ? { map: c.columns(mapAt, { key: text, value: int32, ...mapWas }) } : {}),
      ...(has('packed') ? { points: c.packed(pointsAt, { part: 'k1', value: int32, ...pointsWas }) } : {}),
      ...(has('versions') ? { past: c.versions('h:h', text) } : {}),
      ...(has('embedded')
        ? {
            inner: c.embedded(
              'e',
              (i) => ({ x: i.column('x', text).optional(), y: i.column('y', int32).optional() }),
              { prefix: 'i.' },
            ),
          }
        : {}),
      ...(has('json') ? { json: c.json<unknown>(jsonAt, undefined, jsonWas).optional() } : {}),
      ...(has('avro') ? { line: c.avro(lineAt, LineType, lineWas).optional() } : {}),
      ...(has('defaults') ? { given: c.column('d:g', text).optional() } : {}),
      ...(has('hooks') ? { hooked: c.column('d:h', text).optional() } : {}),
      ...(source === undefined ? {} : { ref: c.column('d:r', text).optional() }),
      ...(has('copies') ? { copy: c.column('d:k', text).optional() } : {}),
      ...(has('lists') ? { tags: c.json<string[]>('d:tags').optional() } : {}),
      ...(has('computed') ? { said: c.column('e:said', text).optional() } : {}),
      ...(has('unique') ? { mail: c.column('d:m', text).optional() } : {}),
      ...(lead.stored === undefined ? {} : { k0: c.column('d:k0', text) }),
    }),
    indexes: {
      ...(has('index') ? { byA: { on: [part('a'), part('q', int32)], include: ['state'] } } : {}),
      ...(has('unique') ? { byMail: { on: [part('mail')], unique: true } } : {}),
      ...(has('several') && has('maps')
        ? {
            byMap: { on: [part('map')], each: 'keys' as const },
            byMapValue: { on: [part('map')] },
            byStateMap: { on: [part('state', STATES), part('map')], each: 'keys' as const },
          }
        : {}),
      ...(has('lists') ? { byTag: { on: [part('tags')] } } : {}),
      ...(has('computed') ? { bySaid: { on: [part('said')] } } : {}),
      ...(has('partial') ? { openByQ: { on: [part('q', int32)], where: { state: 'open' } } } : {}),
      ...(has('eventual')
        ? { byState: { on: [part('state', STATES)], consistency: 'eventual' as const } }
        : {}),
    },
    ...(has('summary') ? { summaries: summariesOf(has('copies'), has('computed')) } : {}),
    ...(source === undefined || !has('copies')
      ? {}
      : { denormalized: [{ from: () => source, via: { id: 'ref' }, fields: { copy: 'name' } }] }),
    ...(has('hooks') ? { hooks: hooks as never } : {}),
    ...(has('computed') ? { computed: { said: saidOf as never } } : {}),
  });
  if (has('defaults')) (Default(() => 'default') as PropertyDecorator)(main.prototype as object, 'given');
  if (rule !== undefined && source !== undefined) {
    const reference = Reference((() => source) as never, { id: 'ref' } as never, { onDelete: rule });
    (reference as unknown as PropertyDecorator)(main.prototype as object, 'named');
  }
  const sibling = has('recordType')
    ? defineEntity({
        name: 'Sibling',
        table,
        recordType: 2,
        key: [...head, part('z', uint8)] as unknown as readonly [],
        columns: (c) => ({
          a: c.column('d:a', text).optional(),
          ...(lead.stored === undefined ? {} : { k0: c.column('d:k0', text) }),
        }),
      })
    : undefined;
  return {
    features,
    renew: has('ttl') && renew,
    main: main as unknown as KeyedClass,
    sibling: sibling as unknown as KeyedClass | undefined,
    source: source as unknown as KeyedClass | undefined,
    rule,
    keys: lead.values.flatMap((k0) => second.values.map((k1) => ({ k0, k1 }))),
    window: has('packed') ? 'k1' : undefined,
  };
}
