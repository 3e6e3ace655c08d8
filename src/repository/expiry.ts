import { equalBytes } from '../bytes/index.js';
import { endOf, markerUntil } from '../schema/marker.js';
import { OwnCells } from '../schema/own-cells.js';
import type { ColumnSchema, EntitySchema, Marker } from '../schema/types.js';
import { checkPositiveInteger } from '../table/checks.js';
import {
  type Cell,
  columnName,
  FOREVER,
  Get,
  LATEST_TIMESTAMP,
  Put,
  type RowMutation,
} from '../table/index.js';
import type { Expectation, Remains, ResolvedChange } from './change.js';
import { timestampOf } from './options.js';
import type { RowImage } from './row-image.js';

/**
 * The TTL of entities. All cells of an entity expire together: its marker stores the time of expiry, and every later
 * write either sets the remaining TTL on its cells or renews the whole row.
 */

/**
 * Milliseconds by which later writes outlive the marker. The clock that stamps cells and the one that computes
 * remaining TTLs may differ slightly, and an entity must not lose a column before it expires. Without its marker it
 * does not exist.
 */
const GRACE = 1000;

/** The TTL that a write gives the entity. */
export interface WriteTtl {
  /** Milliseconds. Undefined: the write sets none. */
  readonly own: number | undefined;
  /** The timestamp of the cells, from which the TTL counts. */
  readonly timestamp: number | undefined;
}

/** Applies the TTL of one entity's rows. */
export class Expiry {
  private readonly histories: readonly ColumnSchema[];
  private readonly own: OwnCells;

  private constructor(
    private readonly schema: EntitySchema,
    private readonly marker: Marker,
    private readonly now: () => number,
  ) {
    this.histories = schema.columns.filter(({ kind }) => kind === 'versions');
    this.own = new OwnCells(schema);
  }

  /** Undefined for entities that do not expire, or have no marker to store the time in. */
  static of(schema: EntitySchema, now: () => number): Expiry | undefined {
    const { marker, timeToLive } = schema;
    return marker === undefined || !timeToLive.lifelong ? undefined : new Expiry(schema, marker, now);
  }

  /** The TTL given by an entity or patch, unless the call's options give one. */
  ttlOf(
    source: Readonly<Record<string, unknown>> | undefined,
    options: { readonly ttl?: number; readonly timestamp?: number } | undefined,
  ): WriteTtl {
    const { property } = this.schema.timeToLive;
    const given = property === undefined ? undefined : source?.[property];
    const timestamp = timestampOf(options);
    const own = options?.ttl ?? given ?? undefined;
    if (own !== undefined) checkPositiveInteger(own as number, 'A time to live (milliseconds)');
    return { own: own as number | undefined, timestamp };
  }

  /** The columns that a write with this TTL must read. */
  reads(row: Uint8Array, life: WriteTtl): Get {
    if (life.own === undefined && !this.schema.timeToLive.renew)
      return new Get(row).addColumn(this.marker.family, this.marker.qualifier);
    return this.whole(row);
  }

  private whole(row: Uint8Array): Get {
    const get = new Get(row);
    for (const family of this.schema.families) get.addFamily(family);
    return get;
  }

  /** Milliseconds until the row expires, for cells added to it. Undefined: without end. */
  remaining(before: RowImage): number | undefined {
    return remainder(this.endOf(before), this.now());
  }

  /** Gives mutations that are no write of the application the row's remaining TTL. */
  carry(mutations: readonly RowMutation[], before: RowImage): RowMutation[] {
    return kept(mutations, this.endOf(before), this.now(), this.marker);
  }

  private endOf(row: RowImage): number | undefined {
    const marker = row.cell(this.marker.family, this.marker.qualifier);
    return marker && endOf(marker);
  }

  /** The mutations with their TTL, and the marker that stores the expiry. */
  apply(mutations: readonly RowMutation[], before: RowImage, life: WriteTtl): ResolvedChange {
    const { milliseconds, renew } = this.schema.timeToLive;
    const { family, qualifier } = this.marker;
    const marker = before.cell(family, qualifier);
    const seen: Expectation[] =
      marker === undefined
        ? [{ kind: 'absent', family, qualifier }]
        : [{ kind: 'equal', family, qualifier, value: marker.value }];
    const now = life.timestamp ?? this.now();
    const stored = marker && endOf(marker);
    const ttl = life.own ?? (marker === undefined || renew ? milliseconds : undefined);
    if (marker !== undefined && ttl === undefined) {
      return { mutations: kept(mutations, stored, now, this.marker), seen };
    }
    // Must differ from the previous expiry, so that comparing markers detects this write.
    const end = ttl === undefined ? undefined : now + ttl + (now + ttl === stored ? 1 : 0);
    const isDated = life.timestamp !== undefined;
    const begun = mutations.flatMap((mutation) => begin(mutation, end, now, this.schema));
    if (marker === undefined)
      return { mutations: begun, seen, remains: this.remains(before.row, life), isDated };
    const isShorter = end !== undefined && (stored === undefined || end < stored);
    begun.push(...this.rewritten(mutations, before, end, now, isShorter));
    if (end === undefined) return { mutations: begun, seen };
    // A flush keeps the newest put of a column, but not the delete behind an earlier put (R44). So each renewal hides
    // earlier cells; otherwise an endless put in a file would reappear. Nothing of a history is dropped while its
    // versions are kept, nor any cell as new as a write with its own timestamp.
    const outlived = cellsBelow(before, mutations).filter(
      ({ family: of, qualifier: name, timestamp }) =>
        (!isDated || timestamp < now) && (isShorter || !this.isHistory(of, name)),
    );
    return { mutations: begun, seen, outlived, isDated };
  }

  private remains(row: Uint8Array, { timestamp: time = Number.POSITIVE_INFINITY }: WriteTtl): Remains {
    return {
      reads: this.whole(row),
      in: (image) =>
        [...image.all()].filter(
          ({ family, qualifier, timestamp }) => timestamp < time && this.own.hasValue(family, qualifier),
        ),
    };
  }

  /**
   * The other cells of the row, rewritten with the new TTL. Cells of a history keep their timestamps, so that they
   * add no version, unless the earlier ones are deleted (`isMoved`).
   */
  private rewritten(
    mutations: readonly RowMutation[],
    before: RowImage,
    end: number | undefined,
    now: number,
    isMoved: boolean,
  ): RowMutation[] {
    const touched = new Set<string>();
    for (const mutation of mutations) {
      const cells = 'cells' in mutation ? mutation.cells : mutation.columns;
      for (const cell of cells) touched.add(columnName(cell.family, cell.qualifier));
    }
    const first = mutations[0]!;
    const written = first.kind === 'put' ? first.timestamp : LATEST_TIMESTAMP;
    const puts = new Map<number, Put>();
    for (const { family, qualifier, value, timestamp } of before.all()) {
      if (touched.has(columnName(family, qualifier))) continue;
      const at = !isMoved && this.isHistory(family, qualifier) ? timestamp : written;
      let put = puts.get(at);
      if (put === undefined) {
        const lived = at === timestamp ? timestamp : now;
        put = new Put(first.row, at).setDurability(first.durability);
        puts.set(at, put.setTtl(end === undefined ? undefined : Math.max(1, end - lived)));
      }
      put.addColumn(family, qualifier, value);
    }
    return [...puts.values()];
  }

  private isHistory(family: string, qualifier: Uint8Array): boolean {
    return this.histories.some(
      (column) => column.family === family && equalBytes(column.qualifier, qualifier),
    );
  }
}

/** The cells that would reappear when the ones written over them expire: all except those that are added to. */
function cellsBelow(before: RowImage, mutations: readonly RowMutation[]): Cell[] {
  const added = mutations.flatMap((mutation): readonly Pick<Cell, 'family' | 'qualifier'>[] =>
    'columns' in mutation ? mutation.columns : [],
  );
  return [...before.all()].filter(
    (cell) =>
      !added.some(({ family, qualifier }) => family === cell.family && equalBytes(qualifier, cell.qualifier)),
  );
}

/** Writes to a row whose TTL is not renewed: without a marker, and with a slightly longer TTL than remains. */
function kept(
  mutations: readonly RowMutation[],
  end: number | undefined,
  now: number,
  marker: Marker,
): RowMutation[] {
  const ttl = remainder(end, now);
  const out: RowMutation[] = [];
  for (const mutation of mutations) {
    if (mutation.kind === 'delete') {
      out.push(mutation);
      continue;
    }
    if (mutation.kind !== 'put') {
      out.push(mutation.setTtl(ttl));
      continue;
    }
    const put = new Put(mutation.row, mutation.timestamp).setDurability(mutation.durability).setTtl(ttl);
    put.cells.push(...mutation.cells.filter(({ value }) => value !== marker.value));
    if (put.cells.length > 0) out.push(put);
  }
  return out;
}

/** The remaining TTL, plus the grace of later writes. */
function remainder(end: number | undefined, now: number): number | undefined {
  return end === undefined ? undefined : Math.max(1, end - now) + GRACE;
}

function begin(
  mutation: RowMutation,
  end: number | undefined,
  now: number,
  { marker, version }: EntitySchema,
): RowMutation[] {
  if (mutation.kind === 'delete') return [mutation];
  const ttl = end === undefined ? undefined : Math.max(1, end - now);
  if (mutation.kind !== 'put') return [mutation.setTtl(ttl)];
  const put = new Put(mutation.row, mutation.timestamp).setDurability(mutation.durability).setTtl(ttl);
  for (const cell of mutation.cells) {
    put.cells.push(cell.value === marker?.value ? { ...cell, value: markerUntil(version, end) } : cell);
  }
  return [put];
}

/** The most milliseconds by which an entry outlives its row. Rows found by it are re-checked. */
const ENTRY_GRACE = 2 * GRACE;

/** Returns the newest cell of a column of a row. */
type CellOf = (family: string, qualifier: Uint8Array) => Cell | undefined;

/** The TTL of index entries: the same for writes, builds and repairs. */
export class EntryExpiry {
  /** Whether rows, or some of their columns, expire. */
  readonly ends: boolean;
  /** Milliseconds, by family, for families with a TTL. */
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
   * The TTL of an entry, ms. Undefined: without end. An entry may outlive its row, but never expire before it, so
   * only columns that it needs count.
   */
  remaining(needed: readonly ColumnSchema[], cell: CellOf, now: number): number | undefined {
    if (!this.ends) return undefined;
    const ends = needed.map((column) => this.endOfColumn(column, cell, now));
    const end = Math.min(this.endOfRow(cell), ...ends);
    return Number.isFinite(end) ? Math.max(1, end - now) + ENTRY_GRACE : undefined;
  }

  /** The TTL of what is stored beside the marker, ms. Undefined: without end. */
  remainingOfMarker(cell: CellOf, now: number): number | undefined {
    const { marker } = this.schema;
    if (!this.ends || marker === undefined) return undefined;
    const end = Math.min(this.endOfRow(cell), this.endOfColumn(marker, cell, now));
    return Number.isFinite(end) ? Math.max(1, end - now) + GRACE : undefined;
  }

  private endOfColumn(
    { family, qualifier }: Pick<ColumnSchema, 'family' | 'qualifier'>,
    cell: CellOf,
    now: number,
  ): number {
    const lifetime = this.lifetimes.get(family);
    const found = lifetime === undefined ? undefined : cell(family, qualifier);
    return found === undefined ? Number.POSITIVE_INFINITY : writtenAt(found.timestamp, now) + lifetime!;
  }

  private endOfRow(cell: CellOf): number {
    const { marker, timeToLive } = this.schema;
    const found =
      timeToLive.lifelong && marker !== undefined ? cell(marker.family, marker.qualifier) : undefined;
    return (found && endOf(found)) ?? Number.POSITIVE_INFINITY;
  }
}

function writtenAt(timestamp: number, now: number): number {
  return timestamp === LATEST_TIMESTAMP ? now : timestamp;
}
