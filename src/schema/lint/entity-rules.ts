/** Rules of thumb for keys and columns (HBase book, "Rowkey Design" and "Try to minimize row and column sizes"). */

import { FOREVER } from '../../table/index.js';
import type { EntitySchema, TableSchema } from '../types.js';
import type { LintRule, Smell } from './types.js';

/** Bytes from which a qualifier is long: every cell repeats it. */
const LONG_QUALIFIER = 16;
/** Bytes from which a row key is long: every cell repeats it. */
const LONG_KEY = 100;
/** Codecs whose values usually rise with the time of writing. */
const TIMES = /^(desc\()?(date|ulid|ksuid|reverseTimestamp|timestamp)\b/;
/** Codecs whose values are often consecutive numbers. */
const COUNTERS = /^(desc\()?(u?int(16|32|53|64)|textNumber|bigint)\b/;
/** Codecs with few values. */
const FEW_VALUES = /^(boolean|u?int8|enumeration|numericEnum)\b/;
/** Elements that spread the keys after them. */
const SPREADING = /^(salt|hash|bucket)\b/;
const TIME_BUCKET = /^(desc\()?timeBucket\b/;

function ofEntities(check: (entity: EntitySchema) => readonly Smell[]): LintRule['check'] {
  return (table: TableSchema) => table.entities.flatMap(check);
}

/** Whether the key begins with an element that spreads writes. */
function isSpread({ signature }: EntitySchema['key']): boolean {
  return SPREADING.test(signature) || /^\S+:(reverse|reverseDomain|reverseDigits)\b/.test(signature);
}

/** The salt of a key: its number of buckets, and its parts. */
export function saltOf({
  signature,
}: EntitySchema['key']): { count: number; over: readonly string[] } | undefined {
  const found = /(?:^| )salt\((\d+)(?:,over ([^)]*))?/.exec(signature);
  if (found === null) return undefined;
  return { count: Number(found[1]), over: found[2]?.split(/[,+ ]+/).filter(Boolean) ?? [] };
}

/** Whether the name of the first part matches. */
function leads({ key }: EntitySchema, test: RegExp): boolean {
  const [lead] = key.parts;
  return lead !== undefined && !isSpread(key) && test.test(lead.codec.name);
}

const place = ({ name }: EntitySchema): string => `${name} key`;

export const ENTITY_RULES: readonly LintRule[] = [
  {
    code: 'counter-beside-marker',
    severity: 'warning',
    check: ofEntities(({ name, columns, marker }) =>
      columns
        .filter(({ kind, family }) => kind === 'counter' && marker !== undefined && family !== marker.family)
        .map(({ property, family }) => ({
          place: `${name}.${property}`,
          message: `On HBase each increment also writes the row's marker, into the family ${marker!.family}.`,
          advice: `Keep the marker where the counter is: @Entity({ marker: '${family}' }).`,
        })),
    ),
  },
  {
    code: 'long-qualifier',
    severity: 'warning',
    check: ofEntities((entity) =>
      entity.columns
        .filter(({ qualifier }) => qualifier.length > LONG_QUALIFIER)
        .map(({ property, qualifier }) => ({
          place: `${entity.name}.${property}`,
          message: `Its qualifier of ${qualifier.length} bytes stands in every cell.`,
          advice: 'Shorten it: the property may keep its name.',
        })),
    ),
  },
  {
    code: 'time-leads-key',
    severity: 'warning',
    check: ofEntities((entity) =>
      leads(entity, TIMES) || TIME_BUCKET.test(entity.key.signature)
        ? [
            {
              place: place(entity),
              message: `Its keys begin with a time ("${entity.key.parts[0]!.name}"): all writes go to one region at a time.`,
              advice: 'Put salt(16), or the part that rows are read by, before it.',
            },
          ]
        : [],
    ),
  },
  {
    code: 'number-leads-key',
    severity: 'hint',
    check: ofEntities((entity) =>
      leads(entity, COUNTERS)
        ? [
            {
              place: place(entity),
              message: `Its keys begin with a number ("${entity.key.parts[0]!.name}"): if it is counted up, all writes go to the last region.`,
              advice:
                'Put salt(16) before it, or reverse its digits; `rowan hotspots` shows where keys would land.',
            },
          ]
        : [],
    ),
  },
  {
    code: 'salt-of-few-values',
    severity: 'warning',
    check: ofEntities((entity) => {
      const salt = saltOf(entity.key);
      const over = entity.key.parts.filter(({ name }) => salt?.over.includes(name) === true);
      if (over.length === 0 || !over.every(({ codec }) => FEW_VALUES.test(codec.name))) return [];
      return [
        {
          place: place(entity),
          message: `Its salt is of ${over.map(({ name }) => name).join(', ')}, which has few values: most of the ${salt!.count} salts stay empty.`,
          advice: 'Salt over a part that has many values.',
        },
      ];
    }),
  },
  {
    code: 'salted-without-splits',
    severity: 'hint',
    check: ofEntities((entity) => {
      const salt = saltOf(entity.key);
      const { splitKeys, descriptor } = entity.table;
      if (salt === undefined || splitKeys.length > 0) return [];
      return [
        {
          place: descriptor.name,
          message: `${entity.name} spreads its rows over ${salt.count} salts, but the table begins with one region, which takes all of them.`,
          advice: `Write presplit: { regions: ${salt.count} }.`,
        },
      ];
    }),
  },
  {
    code: 'long-key',
    severity: 'hint',
    check: ofEntities((entity) => {
      const minLength = entity.key.parts.reduce((sum, { codec }) => sum + (codec.fixedLength ?? 1), 0);
      if (minLength <= LONG_KEY) return [];
      return [
        {
          place: place(entity),
          message: `Its keys have ${minLength} bytes or more, which stand in every cell.`,
          advice: 'Keep them to 10 to 100 bytes: shorter codecs, substitute(), or a hash of long parts.',
        },
      ];
    }),
  },
  {
    code: 'ttl-beyond-family',
    severity: 'warning',
    check: ofEntities((entity) => {
      const { milliseconds } = entity.timeToLive;
      if (milliseconds === undefined) return [];
      return entity.table.descriptor.families
        .filter(
          ({ name, ttl }) => entity.families.includes(name) && ttl !== FOREVER && ttl * 1000 < milliseconds,
        )
        .map(({ name, ttl }) => ({
          place: `${entity.table.descriptor.name}/${name}`,
          message: `${entity.name} is to live ${milliseconds / 1000} s, but cells of the family live ${ttl} s: the shorter holds.`,
          advice: "Lengthen the family's ttl, or shorten the entity's.",
        }));
    }),
  },
];
