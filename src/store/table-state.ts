/** The state of one table of an open store. */

import { toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { describe } from '../table/checks.js';
import type { MutationCell, Query, TableDescriptor } from '../table/index.js';
import { noLabels } from './labels.js';
import { SerialQueue } from './lifecycle.js';
import type { FamilyStore } from './region/family-store.js';
import type { Region } from './region/region.js';

export class TableState {
  /** Serializes changes of the table's regions and families, and bulk loads. */
  readonly changes = new SerialQueue();

  constructor(
    /** The table's number in the log and the MANIFEST. A table that is dropped and created again gets another. */
    readonly id: number,
    public descriptor: TableDescriptor,
    /** The number of each family in the log. A family that is dropped and created again gets another. */
    public familyNumbers: ReadonlyMap<string, number>,
    public enabled: boolean,
    /** In key order, without gaps. A split or merge replaces the whole list. */
    public regions: readonly Region[],
    /** Bytes of the largest accepted cell. */
    private readonly maxCellSize: number,
  ) {}

  get name(): string {
    return this.descriptor.name;
  }

  /** Every family of every region. */
  *stores(): Generator<FamilyStore> {
    for (const region of this.regions) yield* region.stores;
  }

  noSuchFamily(family: string): RowanError {
    const known = this.descriptor.families.map((each) => each.name).join(', ');
    return new RowanError(
      'ERR_NO_SUCH_FAMILY',
      `Table "${this.name}" has no family ${typeof family === 'string' ? `"${family}"` : describe(family)}. It has: ${known}. Alter the table, or correct the name.`,
      { details: { table: this.name, family } },
    );
  }

  /** @throws RowanError `ERR_NO_SUCH_FAMILY` when a read names an unknown family; UnsupportedError for visibility labels. */
  checkQuery(query: Query): void {
    if (query.authorizations !== undefined) throw noLabels('A read with authorizations');
    if (query.onlyFamily !== undefined) {
      this.checkFamily(query.onlyFamily);
    } else if (!query.asksForAll) {
      for (const family of query.families.keys()) this.checkFamily(family);
    }
    if (query.familyTimeRanges.size > 0) {
      for (const family of query.familyTimeRanges.keys()) this.checkFamily(family);
    }
  }

  /** @throws RowanError when a cell is of an unknown family, or too large. */
  checkCells(row: Uint8Array, cells: readonly MutationCell[]): void {
    let last: string | undefined;
    for (let i = 0; i < cells.length; i++) {
      const { family, qualifier, value } = cells[i]!;
      if (family !== last) {
        last = family;
        this.checkFamily(family);
      }
      this.checkSize(row, family, qualifier, value);
    }
  }

  /** @throws RowanError `ERR_NO_SUCH_FAMILY`. */
  checkFamily(family: string): void {
    if (!this.familyNumbers.has(family)) throw this.noSuchFamily(family);
  }

  /** @throws InvalidArgumentError when a cell is too large. */
  checkSize(row: Uint8Array, family: string, qualifier: Uint8Array, value: Uint8Array): void {
    const bytes = row.length + qualifier.length + value.length;
    if (bytes <= this.maxCellSize) return;
    throw new InvalidArgumentError(
      `A cell of row ${toStringBinary(row.subarray(0, 40))} has ${bytes} bytes; the limit is ${this.maxCellSize}. ` +
        'Open the store with a larger maxCellSize, or spread the value over several columns.',
      { details: { table: this.name, family } },
    );
  }
}
