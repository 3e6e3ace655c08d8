/** How long the entries of an index live: one rule for writes, builds and repairs. */

import type { EntityIndex } from '../indexes/index.js';
import { endOf } from '../schema/marker.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { type Cell, FOREVER, LATEST_TIMESTAMP } from '../table/index.js';
import { GRACE } from './expiry.js';

/** Milliseconds that an entry outlives the row at most for the clocks' sake; what is read of it is held against the row. */
const ENTRY_GRACE = 2 * GRACE;

/** The newest cell of a column of a row. */
export type CellOf = (family: string, qualifier: Uint8Array) => Cell | undefined;

export class EntryLife {
  /** Whether rows, or columns of them, end by themselves. */
  readonly ends: boolean;
  /** Of the families whose cells end, milliseconds. */
  private readonly lifetimes: ReadonlyMap<string, number>;
  private readonly schema: EntitySchema;

  constructor(schema: EntitySchema) {
    this.schema = schema;
    this.lifetimes = new Map(
      schema.table.descriptor.families
        .filter(({ ttl, minVersions }) => ttl !== FOREVER && minVersions === 0)
        .map(({ name, ttl }) => [name, ttl * 1000]),
    );
    this.ends = schema.timeToLive.lifelong || this.lifetimes.size > 0;
  }

  /**
   * Milliseconds that an entry of the index has left; undefined: without end. It may outlive what bears it out, never the
   * other way round: only columns that it cannot be without count.
   */
  remaining(index: EntityIndex, cell: CellOf, now: number): number | undefined {
    if (!this.ends) return undefined;
    const ends = index.needed.map((column) => this.endOfColumn(column, cell, now));
    const end = Math.min(this.endOfRow(cell, now), ...ends);
    return Number.isFinite(end) ? Math.max(1, end - now) + ENTRY_GRACE : undefined;
  }

  /** Milliseconds that what stands beside the marker has left; undefined: without end. */
  remainingOfMarker(cell: CellOf, now: number): number | undefined {
    const { marker } = this.schema;
    if (!this.ends || marker === undefined) return undefined;
    const end = Math.min(this.endOfRow(cell, now), this.endOfColumn(marker, cell, now));
    return Number.isFinite(end) ? Math.max(1, end - now) + GRACE : undefined;
  }

  private endOfColumn(
    { family, qualifier }: Pick<ColumnSchema, 'family' | 'qualifier'>,
    cell: CellOf,
    now: number,
  ): number {
    const lifetime = this.lifetimes.get(family);
    const found = lifetime === undefined ? undefined : cell(family, qualifier);
    return found === undefined ? Number.POSITIVE_INFINITY : settled(found.timestamp, now) + lifetime!;
  }

  private endOfRow(cell: CellOf, now: number): number {
    const { marker, timeToLive } = this.schema;
    const found =
      timeToLive.lifelong && marker !== undefined ? cell(marker.family, marker.qualifier) : undefined;
    const end = found && endOf(found.value, settled(found.timestamp, now), undefined);
    return end ?? Number.POSITIVE_INFINITY;
  }
}

function settled(timestamp: number, now: number): number {
  return timestamp === LATEST_TIMESTAMP ? now : timestamp;
}
