import { SchemaError } from '../errors.js';
import { familyDescriptor, type TableDescriptor } from './descriptor.js';

/**
 * Write fences, by which a table refuses writes on an engine whose servers know no read-only tables and whose deletes leave
 * no trace (Bigtable). Each change of a row of a fenced table also writes, in the same step:
 *
 * 1. a random value to `rowan_fence:w`. Without that family the service refuses the whole change. So the removal of one family stops
 *    the writes of all programs at one moment.
 * 2. the same value to `rowan_touched:w`, so that the row of a delete is found by its timestamp.
 *
 * A program learns that a table is fenced from its descriptor. Reads that name no family do not see these two. Their names are FROZEN.
 */

/** The family without which no change is possible. */
export const FENCE_FAMILY = 'rowan_fence';
/** The family that tells which rows were changed last. */
export const TOUCHED_FAMILY = 'rowan_touched';
/** The column of both. */
export const FENCE_QUALIFIER: Uint8Array = Uint8Array.of(0x77);

/** The metadata of a fenced table. */
const FENCED = 'rowan.fenced';

export function isFenceFamily(family: string): boolean {
  return family === FENCE_FAMILY || family === TOUCHED_FAMILY;
}

export function isFenced({ metadata }: Pick<TableDescriptor, 'metadata'>): boolean {
  return metadata[FENCED] === 'true';
}

/**
 * The table with a fence, which lets writes through.
 * @throws SchemaError for a table that declares a family of this name itself.
 */
export function fencedTable(table: TableDescriptor): TableDescriptor {
  const own = table.families.find(({ name }) => isFenceFamily(name));
  if (own !== undefined && !isFenced(table))
    throw new SchemaError(
      `Table "${table.name}" has a family "${own.name}", a name that Rowan needs. Rename it.`,
    );
  const others = table.families.filter(({ name }) => !isFenceFamily(name));
  const families = [...others, familyDescriptor(FENCE_FAMILY), familyDescriptor(TOUCHED_FAMILY)];
  return { ...table, families, metadata: { ...table.metadata, [FENCED]: 'true' } };
}

/** The fenced table without the family that changes need: the service refuses them. */
export function closedFence(table: TableDescriptor): TableDescriptor {
  return { ...table, families: table.families.filter(({ name }) => name !== FENCE_FAMILY) };
}

/** The table without its fence, and with the families of it: changes of programs that still know it are made. */
export function unfencedTable({ metadata, ...table }: TableDescriptor): TableDescriptor {
  const { [FENCED]: _, ...others } = metadata;
  return { ...table, metadata: others };
}

/** The table without the families of a fence. */
export function withoutFenceFamilies(table: TableDescriptor): TableDescriptor {
  return { ...table, families: table.families.filter(({ name }) => !isFenceFamily(name)) };
}
