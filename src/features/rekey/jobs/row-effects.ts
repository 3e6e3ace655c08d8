import { applyReadSet, type ReadSet, readColumns } from '../../../query/projection.js';
import { RowImage } from '../../../repository/index.js';
import type { EntitySchema } from '../../../schema/types.js';
import { type Durability, Get, Result, type RowRead, type TableChange } from '../../../table/index.js';
import type { RowUpkeep } from '../../feature.js';
import { IndexMaintainer } from '../../indexes/embedded.js';
import type { EntityIndexes } from '../../indexes/entity-indexes.js';

/**
 * Computes the changes of index entries and summaries that belong into the step of a row that is written below its
 * repository, as copies from another layout are.
 */
export class RowEffects {
  private readonly maintainer: IndexMaintainer | undefined;
  private readonly columns: ReadSet | undefined;
  private readonly table: string;

  constructor(
    schema: EntitySchema,
    indexes: EntityIndexes | undefined,
    private readonly upkeep: readonly RowUpkeep[],
    now: () => number,
  ) {
    this.maintainer = indexes && new IndexMaintainer(indexes, now);
    // Features may depend on any column.
    this.columns =
      upkeep.length > 0 || indexes === undefined
        ? undefined
        : readColumns(schema, [], indexes.columns, undefined);
    this.table = schema.table.descriptor.name;
  }

  /** The columns of the row that the effects depend on, at this point of the step. */
  imageOf(row: Uint8Array, read: RowRead): RowImage {
    const get = new Get(row);
    if (this.columns !== undefined) applyReadSet(get, this.columns);
    return RowImage.of(row, read(get, this.table));
  }

  /**
   * The effects of a change of a row, assuming that the stored data about it was correct. @throws ConflictError on a
   * unique value that another row has.
   */
  changed(row: Uint8Array, before: RowImage, durability: Durability, read: RowRead): TableChange[] {
    return this.follow(row, before, this.imageOf(row, read), durability, read);
  }

  /** The effects of the row's removal. */
  removed(row: Uint8Array, before: RowImage, durability: Durability, read: RowRead): TableChange[] {
    return this.follow(row, before, RowImage.of(row, Result.EMPTY), durability, read);
  }

  private follow(
    row: Uint8Array,
    before: RowImage,
    after: RowImage,
    durability: Durability,
    read: RowRead,
  ): TableChange[] {
    const step = { read };
    const effects = [...(this.maintainer?.effectsBelow(row, before, after, durability, step) ?? [])];
    for (const upkeep of this.upkeep) {
      for (const effect of upkeep.effects(row, before, after, step)) {
        effect.mutation.setDurability(durability);
        effects.push(effect);
      }
    }
    return effects.map(({ table, mutation }) => ({ table, change: mutation }));
  }
}
