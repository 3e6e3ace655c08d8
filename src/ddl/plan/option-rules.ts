/** The cost and the reason of a change of each option: the only place where steps get their class. */

import { FOREVER } from '../../table/index.js';
import type { StepClass } from './types.js';

/** The class of a change, and a sentence of reason. */
export interface Judgement {
  readonly class: StepClass;
  readonly why: string;
}

/** The context of a change besides its two values. */
export interface ChangeContext {
  /** Whether cells of the family expire, before or after the change. */
  readonly expires: boolean;
}

type Rule = (from: unknown, to: unknown, context: ChangeContext) => Judgement;

const online =
  (why: string): Rule =>
  () => ({ class: 'online', why });

const rewrite =
  (what: string): Rule =>
  () => ({
    class: 'rewrite',
    why: `New files have the new ${what}; those written before keep the old one until a major compaction.`,
  });

const meaning =
  (why: string): Rule =>
  () => ({ class: 'meaning', why });

const KEEPING = ['FALSE', 'TTL', 'TRUE'];

const FAMILY_RULES: Readonly<Record<string, Rule>> = {
  versions: (from, to) =>
    (to as number) > (from as number)
      ? { class: 'online', why: 'More versions are kept from now on; those dropped before do not come back.' }
      : {
          class: 'data-loss',
          why: 'Versions above the new number are dropped at the next major compaction.',
        },
  minVersions: (from, to, { expires }) =>
    (to as number) > (from as number)
      ? { class: 'online', why: 'More versions outlive their time to live from now on.' }
      : expires
        ? {
            class: 'data-loss',
            why: 'Expired versions above the new number are dropped at the next compaction.',
          }
        : { class: 'online', why: 'Nothing expires in this family, so that nothing is kept by it.' },
  ttl: (from, to) =>
    (to as number) < (from as number)
      ? { class: 'data-loss', why: 'Cells older than the new time to live disappear at once.' }
      : {
          class: 'meaning',
          why: 'Cells that had expired are read again where no compaction has dropped them yet.',
        },
  keepDeletedCells: (from, to) =>
    KEEPING.indexOf(to as string) > KEEPING.indexOf(from as string)
      ? {
          class: 'meaning',
          why: 'Reads of earlier times find what is deleted from now on, and it takes room.',
        }
      : { class: 'data-loss', why: 'Deleted cells that were kept are dropped at the next major compaction.' },
  newVersionBehavior: meaning(
    'Which delete hides which put is decided by the order of writing, or no longer is.',
  ),
  compression: rewrite('compression'),
  dataBlockEncoding: rewrite('block encoding'),
  bloomFilter: rewrite('Bloom filter'),
  blockSize: rewrite('block size'),
  replicationScope: meaning(
    'Writes are replicated to the peers from now on (the table must exist there), or no longer are.',
  ),
  blockCache: online('Decides whether blocks are cached when they are read.'),
  inMemory: online('Only the order in which blocks leave the cache changes.'),
  cacheDataOnWrite: online('Only what is cached when files are written changes.'),
  prefetchBlocksOnOpen: online('Only what is cached when files are opened changes.'),
};

const TABLE_RULES: Readonly<Record<string, Rule>> = {
  durability: (_, to) =>
    to === 'ASYNC_WAL' || to === 'SKIP_WAL'
      ? {
          class: 'meaning',
          why: 'Writes are acknowledged before they are in the WAL: a crash may lose them.',
        }
      : { class: 'online', why: 'Writes are acknowledged when they are in the WAL.' },
  readOnly: (_, to) =>
    to === true
      ? { class: 'meaning', why: 'Every write is refused from now on.' }
      : { class: 'meaning', why: 'Writes are accepted again.' },
  regionReplication: () => ({
    class: 'offline',
    why: 'Copies of regions are made or dropped only while the table is disabled.',
  }),
  maxFileSize: online('Decides when regions are split from now on.'),
  memstoreFlushSize: online('Decides when memstores are flushed from now on.'),
  splitEnabled: online('Decides whether regions are split from now on.'),
  compactionEnabled: online('Decides whether files are merged from now on.'),
  splitPolicy: online('Decides when and where regions are split from now on.'),
};

/** The class and reason of a change of `option`, of a family or (undefined) of the table, from one value to another. */
export function judge(
  family: string | undefined,
  option: string,
  from: unknown,
  to: unknown,
  context: ChangeContext,
): Judgement {
  if (option.startsWith('configuration.')) {
    return { class: 'online', why: 'A setting of the server for this table; its regions are reopened.' };
  }
  if (option.startsWith('metadata.'))
    return { class: 'online', why: 'A metadata entry that nothing depends on.' };
  const rule = (family === undefined ? TABLE_RULES : FAMILY_RULES)[option];
  return rule === undefined
    ? { class: 'meaning', why: 'The effect of this option is unknown.' }
    : rule(from, to, context);
}

/** Whether the option takes full effect only when the family's files are rewritten. */
export function needsCompaction(option: string): boolean {
  return ['compression', 'dataBlockEncoding', 'bloomFilter', 'blockSize'].includes(option);
}

export function expires(ttl: number): boolean {
  return ttl !== FOREVER;
}
