import type { FamilyOptions } from '../../../src/table/index.js';
import type { Random } from './random.js';

/** The shape of the data that sequences work on: few names, so that operations meet often. */
export const FAMILIES = ['f', 'g'] as const;
const QUALIFIERS = ['', 'x', 'xy', 'y'] as const;
export const VALUES = ['', 'v', 'vw', 'w', 'zz', '\0\xff'] as const;
const ROWS = ['a', 'ab', 'b', 'c'] as const;
/** Counters and appended values have columns of their own. */
export const COUNTER = 'n';
export const APPENDED = 'p';

type Mode = 'plain' | 'keepDeleted' | 'ttl' | 'keepDeletedTtl';

/** Seconds; far from every age, so that the time a test takes decides nothing. */
const TTL = 100_000;
const AGES = [
  400_000, 300_000, 250_000, 200_000, 150_000, 120_000, 80_000, 60_000, 40_000, 30_000, 20_000, 1000,
];

/** One table's settings and the times its sequences use. */
export class Group {
  /** Server-chosen timestamps lie at or above it, all others below. */
  readonly base = Date.now();

  /**
   * Whether family markers and filters are used; then no column has the empty qualifier. Where a query is done with a
   * column, HBase 2.6.4 skips the rest of it, but in the column of the empty qualifier it looks at every cell, for family
   * markers may follow; unless its next block begins behind the column (`StoreScanner.trySkipToNextColumn`). So what it
   * answers depends on how cells lie in blocks.
   */
  readonly namedColumnsOnly: boolean;
  readonly qualifiers: readonly string[];

  constructor(
    random: Random,
    readonly mode: Mode,
    readonly families: Readonly<Record<string, FamilyOptions>>,
  ) {
    this.namedColumnsOnly = random.chance(0.75);
    this.qualifiers = this.namedColumnsOnly ? QUALIFIERS.slice(1) : QUALIFIERS;
  }

  static random(random: Random): Group {
    const mode = random.weighted<Mode>({ plain: 8, keepDeleted: 4, ttl: 3, keepDeletedTtl: 1 });
    const families: Record<string, FamilyOptions> = {};
    for (const family of FAMILIES) families[family] = familyOptions(random, mode);
    return new Group(random, mode, families);
  }

  get expires(): boolean {
    return this.mode === 'ttl' || this.mode === 'keepDeletedTtl';
  }

  /** One of twelve times: small numbers, or ages when cells expire. */
  time(random: Random): number {
    const n = random.below(12);
    return this.expires ? this.base - (AGES[n] as number) * 1000 : n + 1;
  }

  /** A time for the cells of a mutation: mostly one of the twelve. */
  cellTtl(random: Random): number | undefined {
    return this.expires && random.chance(0.15) ? 50_000_000 : undefined;
  }
}

function familyOptions(random: Random, mode: Mode): FamilyOptions {
  const versions = 1 + random.below(3);
  const expires = mode === 'ttl' || mode === 'keepDeletedTtl';
  const keeps = mode === 'keepDeleted' || mode === 'keepDeletedTtl';
  // A major compaction of HBase 2.6.4 may not end when deleted cells, a time to live and minimum versions meet.
  const minVersions = expires && !keeps && random.chance(0.4) ? 1 + random.below(versions) : 0;
  return {
    versions,
    minVersions,
    ...(expires ? { ttl: TTL } : {}),
    keepDeletedCells: keeps ? (random.chance(0.7) ? 'TRUE' : 'TTL') : 'FALSE',
    bloomFilter: random.pick(['NONE', 'ROW', 'ROWCOL'] as const),
    dataBlockEncoding: random.pick(['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'] as const),
    compression: random.pick(['NONE', 'GZ', 'SNAPPY'] as const),
    // Small, so that a row spreads over blocks.
    blockSize: random.pick([1024, 65536] as const),
  };
}

/** The rows of one sequence within its group's table. */
export class RowSpace {
  readonly prefix: string;
  readonly end: string;

  constructor(index: number) {
    this.prefix = `s${String(index).padStart(3, '0')}-`;
    this.end = `${this.prefix}~`;
  }

  row(random: Random): string {
    return this.prefix + random.pick(ROWS);
  }

  /** A row or a place between rows. */
  bound(random: Random): string {
    return this.prefix + random.pick(['', 'a', 'aa', 'ab', 'b', 'c', 'd']);
  }
}
