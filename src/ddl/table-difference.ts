/** How the options of a live table differ from those declared. */

import type { TableSchema } from '../schema/types.js';
import type { FamilyDescriptor, TableDescriptor } from '../table/index.js';

/** One option of a table or family that is not as declared. */
export interface TableDifference {
  readonly table: string;
  /** Undefined: an option of the table itself. */
  readonly family: string | undefined;
  /** As in `@Table`: `versions`, `ttl`, `compression`, …; of settings `configuration.hbase.x`. */
  readonly option: string;
  readonly declared: unknown;
  readonly live: unknown;
  /**
   * `meaning`: it decides what is kept and read (versions, time to live, deleted cells); `storage`: how it is stored.
   */
  readonly effect: 'meaning' | 'storage';
  /** Whether the declaration says so itself; otherwise it has HBase's default. */
  readonly explicit: boolean;
}

/** What decides which cells there are. */
const MEANING: ReadonlySet<string> = new Set([
  'versions',
  'minVersions',
  'ttl',
  'keepDeletedCells',
  'newVersionBehavior',
]);

const FAMILY_OPTIONS = [
  'versions',
  'minVersions',
  'ttl',
  'compression',
  'dataBlockEncoding',
  'bloomFilter',
  'blockSize',
  'blockCache',
  'inMemory',
  'keepDeletedCells',
  'newVersionBehavior',
  'replicationScope',
  'cacheDataOnWrite',
  'prefetchBlocksOnOpen',
] as const satisfies readonly (keyof FamilyDescriptor)[];

const TABLE_OPTIONS = [
  'durability',
  'maxFileSize',
  'memstoreFlushSize',
  'readOnly',
  'splitEnabled',
  'compactionEnabled',
  'regionReplication',
  'splitPolicy',
] as const satisfies readonly (keyof TableDescriptor)[];

type Options = Readonly<Record<string, unknown>>;

/** Families that the live table lacks are left to the caller. Settings are compared where they are declared. */
export function tableDifferences(
  { descriptor, declaration }: Pick<TableSchema, 'descriptor' | 'declaration'>,
  live: TableDescriptor,
): TableDifference[] {
  const of = (family: string | undefined, given: Options | undefined) => {
    const compare = (option: string, declared: unknown, actual: unknown): TableDifference[] =>
      declared === actual
        ? []
        : [
            {
              table: descriptor.name,
              family,
              option,
              declared,
              live: actual,
              effect: MEANING.has(option) ? 'meaning' : 'storage',
              explicit: given !== undefined && Object.hasOwn(given, option.split('.')[0]!),
            },
          ];
    return compare;
  };
  const table = of(undefined, declaration as Options | undefined);
  const differences = TABLE_OPTIONS.flatMap((option) => table(option, descriptor[option], live[option]));
  differences.push(...settings(table, descriptor, live));
  for (const family of descriptor.families) {
    const actual = live.families.find(({ name }) => name === family.name);
    if (actual === undefined) continue;
    const compare = of(family.name, declaration?.families[family.name] as Options | undefined);
    differences.push(
      ...FAMILY_OPTIONS.flatMap((option) => compare(option, family[option], actual[option])),
      ...settings(compare, family, actual),
    );
  }
  return differences;
}

type Settings = Pick<TableDescriptor, 'configuration' | 'metadata'>;

function settings(
  compare: (option: string, declared: unknown, actual: unknown) => TableDifference[],
  declared: Settings,
  live: Settings,
): TableDifference[] {
  return (['configuration', 'metadata'] as const).flatMap((kind) =>
    Object.entries(declared[kind]).flatMap(([name, value]) =>
      compare(`${kind}.${name}`, value, live[kind][name]),
    ),
  );
}

/** "d.versions is 1, declared 3". */
export function describeDifference({ family, option, declared, live }: TableDifference): string {
  const place = family === undefined ? option : `${family}.${option}`;
  return `${place} is ${String(live)}, declared ${String(declared)}`;
}
