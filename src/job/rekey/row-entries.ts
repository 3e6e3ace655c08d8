/** The entries of an entity's indexes, kept with rows that are written below its repository: copies from another layout. */

import type { EntityIndexes } from '../../indexes/index.js';
import { applyReadSet, readColumns } from '../../query/projection.js';
import { IndexParticipant, RowImage } from '../../repository/index.js';
import { type Durability, Get, Result, type RowRead, type TableChange } from '../../table/index.js';

/** Each answers the changes of entries that belong into the step in which the row changes. */
export class RowEntries {
  private readonly participant: IndexParticipant;
  private readonly columns;
  private readonly table: string;

  constructor(indexes: EntityIndexes, now: () => number) {
    const { schema, columns } = indexes;
    this.participant = new IndexParticipant(indexes, now);
    this.columns = readColumns(schema, [], columns, undefined);
    this.table = schema.table.descriptor.name;
  }

  /** What entries are made of, as the row is at this point of a step. */
  imageOf(row: Uint8Array, read: RowRead): RowImage {
    const get = new Get(row);
    applyReadSet(get, this.columns);
    return RowImage.of(row, read(get, this.table));
  }

  /** Behind a change of a row whose entries were right before. @throws ConflictError on a value of a unique index that another row has. */
  changed(row: Uint8Array, before: RowImage, durability: Durability, read: RowRead): TableChange[] {
    return this.follow(row, before, this.imageOf(row, read), durability, read);
  }

  /** With the end of a row. */
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
    return this.participant
      .followBelow(row, before, after, durability, { read })
      .map(({ table, mutation }) => ({ table, change: mutation }));
  }
}
