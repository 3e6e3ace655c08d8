/** What `bench:store` is asked to measure. */

import { parseArgs } from 'node:util';
import { COMPRESSIONS, type Compression } from '../../../src/table/index.js';
import { KEY_KINDS, type KeyKindName } from './key-kinds.js';
import { OPERATIONS, type OperationName } from './operations.js';
import { PLACEMENTS, PLAIN_FILES, type Placement, STORES, type StoreName } from './placements.js';

interface BenchOptions {
  readonly kinds: readonly KeyKindName[];
  readonly placements: readonly Placement[];
  readonly operations: readonly OperationName[];
  readonly compressions: readonly Compression[];
  readonly stores: readonly StoreName[];
  /** Bytes of a block of Rowan's files. */
  readonly blockBytes: number;
  readonly rows: number;
  /** Rows of the placement that is larger than the cache. */
  readonly largeRows: number;
  /** Of rows in a store that is opened after a clean close. */
  readonly megabytes: number;
  /** Openings that each write some 2 MB and close, before a store is read. */
  readonly lives: number;
  readonly rounds: number;
}

const QUICK = {
  kinds: ['digits', 'composite'],
  placements: ['one', 'several'],
  stores: ['rowan', 'classic-level', 'lmdb'],
  operations: ['get', 'row', 'miss', 'range', 'scan', 'batch'],
} as const;

/** @throws TypeError naming the option and what it may be. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      keys: { type: 'string' },
      place: { type: 'string' },
      ops: { type: 'string' },
      compression: { type: 'string' },
      stores: { type: 'string' },
      'block-bytes': { type: 'string' },
      rows: { type: 'string' },
      'large-rows': { type: 'string' },
      megabytes: { type: 'string' },
      lives: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string' },
      merge: { type: 'string' },
    },
  });
  const { quick } = values;
  const kinds = Object.keys(KEY_KINDS) as KeyKindName[];
  return {
    kinds: chosen('keys', values.keys, kinds, quick ? QUICK.kinds : kinds),
    placements: chosen('place', values.place, PLACEMENTS, quick ? QUICK.placements : PLACEMENTS),
    operations: chosen('ops', values.ops, OPERATIONS, quick ? QUICK.operations : OPERATIONS),
    compressions: chosen('compression', values.compression, COMPRESSIONS, ['NONE']),
    stores: chosen('stores', values.stores, STORES, quick ? QUICK.stores : STORES),
    blockBytes: count('block-bytes', values['block-bytes'], PLAIN_FILES.blockBytes),
    rows: count('rows', values.rows, quick ? 50_000 : 200_000),
    largeRows: count('large-rows', values['large-rows'], 10_000_000),
    megabytes: count('megabytes', values.megabytes, 1024),
    lives: count('lives', values.lives, 300),
    rounds: count('rounds', values.rounds, quick ? 3 : 5),
  };
}

function chosen<Name extends string>(
  option: string,
  text: string | undefined,
  all: readonly Name[],
  fallback: readonly Name[],
): readonly Name[] {
  if (text === undefined) return fallback;
  return text.split(',').map((each) => {
    const found = all.find((name) => name === each);
    if (found === undefined)
      throw new TypeError(`--${option} takes some of ${all.join(', ')}, not "${each}".`);
    return found;
  });
}

function count(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new TypeError(`--${option} takes a count, not "${text}".`);
  return value;
}
