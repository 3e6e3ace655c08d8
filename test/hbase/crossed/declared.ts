/** Entities that have what HBase cannot write in one step, two by two and more: drawn one by one. */

import { defineEntity, defineTable, Reference } from '../../../decorators/index.js';
import { enumeration, int32, text } from '../../../src/codec/index.js';
import { part, salt } from '../../../src/key/index.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import type { Random } from '../../query/model/random.js';

const FEATURES = [
  'strong',
  'unique',
  'eventual',
  'partial',
  'summary',
  'greatest',
  'copies',
  'rules',
  'changes',
  'version',
  'softDelete',
  'salt',
] as const;
export type Feature = (typeof FEATURES)[number];

export const COLORS = ['red', 'green', 'blue'] as const;
export const MAILS = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'];
export const OWNERS = ['o1', 'o2'];
export const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];

export interface Thing {
  id: string;
  /** Names the write that stored the row as it is. */
  tag?: string | null;
  color?: (typeof COLORS)[number] | null;
  size?: number | null;
  mail?: string | null;
  owner?: string | null;
  ownerName?: string | null;
  version?: number;
  deleted?: Date | null;
}

export interface Declared {
  readonly features: ReadonlySet<Feature>;
  readonly rule: 'restrict' | 'cascade' | 'setNull' | undefined;
  readonly thing: KeyedClass;
  readonly owner: KeyedClass;
  readonly tables: readonly string[];
}

/** What declares columns. */
type Columns = Parameters<Parameters<typeof defineEntity>[0]['columns']>[0];

const HOUR = 3_600_000;

/** What a row written in one call may have: eventual indexes alone, or summaries alone. */
const ONE_CALL: readonly (readonly Feature[])[] = [['eventual'], ['summary'], ['eventual', 'salt']];

export function declare(random: Random, name: string): Declared {
  const features = new Set<Feature>(
    random.chance(0.25) ? random.pick(ONE_CALL) : FEATURES.filter(() => random.chance(0.5)),
  );
  const has = (feature: Feature): boolean => features.has(feature);
  const rules = has('softDelete') ? (['restrict'] as const) : (['restrict', 'cascade', 'setNull'] as const);
  const rule = has('rules') ? random.pick<'restrict' | 'cascade' | 'setNull'>(rules) : undefined;
  const owner = defineEntity({
    name: 'Owner',
    table: defineTable({ name: `${name}_owners`, families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ name: c.column('d:n', text).optional() }),
  });
  const thing = defineEntity({
    name: 'Thing',
    table: defineTable({ name, families: { d: {}, ...(has('changes') ? { m: {} } : {}) } }),
    ...(has('changes') ? { changes: { keep: HOUR, marks: 'm' } } : {}),
    key: [...(has('salt') ? [salt(2)] : []), part('id')] as unknown as readonly [],
    columns: (c: Columns) => ({
      tag: c.column('d:t', text).optional(),
      color: c.column('d:c', enumeration({ red: 1, green: 2, blue: 3 })).optional(),
      size: c.column('d:s', int32).optional(),
      mail: c.column('d:m', text).optional(),
      owner: c.column('d:o', text).optional(),
      ...(has('copies') ? { ownerName: c.column('d:k', text).optional() } : {}),
      ...(has('version') ? { version: c.version('d:v') } : {}),
      ...(has('softDelete') ? { deleted: c.deletedAt('d:x') } : {}),
    }),
    indexes: {
      ...(has('strong') ? { bySize: { on: [part('size', int32)], include: ['color'] } } : {}),
      ...(has('unique') ? { byMail: { on: [part('mail')], unique: true } } : {}),
      ...(has('partial') ? { redBySize: { on: [part('size', int32)], where: { color: 'red' } } } : {}),
      ...(has('eventual')
        ? {
            byColor: {
              on: [part('color', enumeration({ red: 1, green: 2, blue: 3 }))],
              consistency: 'eventual' as const,
            },
          }
        : {}),
    },
    ...(has('summary')
      ? {
          summaries: {
            byColor: {
              by: ['color'],
              figures: {
                rows: 'count',
                total: { sum: 'size' },
                ...(has('greatest') ? { greatest: { max: 'size' } } : {}),
              },
            },
            ...(has('copies') ? { byName: { by: ['ownerName'], figures: { rows: 'count' } } } : {}),
          },
        }
      : {}),
    ...(has('copies')
      ? {
          denormalized: [
            { from: () => owner, via: { id: 'owner' }, fields: { ownerName: 'name' }, fanOut: 2 },
          ],
        }
      : {}),
  } as never) as unknown as KeyedClass;
  if (rule !== undefined) {
    const reference = Reference((() => owner) as never, { id: 'owner' } as never, { onDelete: rule });
    (reference as unknown as PropertyDecorator)((thing as { prototype: object }).prototype, 'named');
  }
  return {
    features,
    rule,
    thing,
    owner: owner as unknown as KeyedClass,
    tables: [name, `${name}_idx`, `${name}_sum`, `${name}_owners`],
  };
}
