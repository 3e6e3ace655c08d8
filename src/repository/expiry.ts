import { equalBytes, toLatin1 } from '../bytes/index.js';
import type { EntityIndex } from '../features/indexes/entity-indexes.js';
import { endOf, markerUntil } from '../schema/marker.js';
import { OwnCells } from '../schema/own-cells.js';
import type { ColumnSchema, EntitySchema, Marker } from '../schema/types.js';
import { checkPositiveInteger } from '../table/checks.js';
import { type Cell, FOREVER, Get, LATEST_TIMESTAMP, Put, type RowMutation } from '../table/index.js';
import type { Expectation, Remains, ResolvedChange } from './change.js';
import { timestampOf } from './options.js';
import type { RowImage } from './row-image.js';

/**
 * The time to live of entities: an entity lives and dies as one. Its marker holds the time of its end, and every later
 * write carries what remains, or begins a new life for the whole row.
 */

/**
 * Milliseconds that a later write outlives the marker: the clock that stamps cells and the one that the remaining time is
 * reckoned by may differ a little, and an entity must not lose a column before it ends. Without its marker it is gone.
 */
export const GRACE = 1000;

/** The time to live that a write gives the entity. */
export interface Life {
  /** Milliseconds; undefined: nothing is said. */
  readonly own: number | undefined;
  /** The time of the cells, which the life counts from. */
  readonly timestamp: number | undefined;
}

/** The end of lives of one entity's rows. */
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

  /** Undefined for entities that do not end, or have no marker that could tell when. */
  static of(schema: EntitySchema, now: () => number): Expiry | undefined {
    const { marker, timeToLive } = schema;
    return marker === undefined || !timeToLive.lifelong ? undefined : new Expiry(schema, marker, now);
  }

  /** The life that an entity or a patch asks for by itself, unless the options of the call do. */
  lifeOf(
    source: Readonly<Record<string, unknown>> | undefined,
    options: { readonly ttl?: number; readonly timestamp?: number } | undefined,
  ): Life {
    const { property } = this.schema.timeToLive;
    const said = property === undefined ? undefined : source?.[property];
    const timestamp = timestampOf(options);
    const own = options?.ttl ?? said ?? undefined;
    if (own !== undefined) checkPositiveInteger(own as number, 'A time to live (milliseconds)');
    return { own: own as number | undefined, timestamp };
  }

  /** The columns of the row that a write with this life must read. */
  reads(row: Uint8Array, life: Life): Get {
    if (life.own === undefined && !this.schema.timeToLive.renew)
      return new Get(row).addColumn(this.marker.family, this.marker.qualifier);
    return this.whole(row);
  }

  private whole(row: Uint8Array): Get {
    const get = new Get(row);
    for (const family of this.schema.families) get.addFamily(family);
    return get;
  }

  /** Milliseconds that a cell written beside an entity's others may live; undefined: without end. */
  remaining(before: RowImage): number | undefined {
    return remainder(this.endOf(before), this.now());
  }

  /** Mutations that are no write of the application: they live as long as the row has left, whatever renews it. */
  carry(mutations: readonly RowMutation[], before: RowImage): RowMutation[] {
    return kept(mutations, this.endOf(before), this.now(), this.marker);
  }

  private endOf(row: RowImage): number | undefined {
    const marker = row.cell(this.marker.family, this.marker.qualifier);
    return marker && endOf(marker.value, marker.timestamp, this.schema.timeToLive.milliseconds);
  }

  /** The mutations with the time to live that they must have, and the marker with it. */
  apply(mutations: readonly RowMutation[], before: RowImage, life: Life): ResolvedChange {
    const { milliseconds, renew } = this.schema.timeToLive;
    const { family, qualifier } = this.marker;
    const marker = before.cell(family, qualifier);
    const seen: Expectation[] =
      marker === undefined
        ? [{ kind: 'absent', family, qualifier }]
        : [{ kind: 'equal', family, qualifier, value: marker.value }];
    const now = life.timestamp ?? this.now();
    const stored = marker && endOf(marker.value, marker.timestamp, milliseconds);
    const said = life.own ?? (marker === undefined || renew ? milliseconds : undefined);
    if (marker !== undefined && said === undefined) {
      return { mutations: kept(mutations, stored, now, this.marker), seen };
    }
    // Another end than the last one, so that who compares markers sees that this was written.
    const end = said === undefined ? undefined : now + said + (now + said === stored ? 1 : 0);
    const isDated = life.timestamp !== undefined;
    const begun = mutations.flatMap((mutation) => begin(mutation, end, now, this.schema));
    if (marker === undefined)
      return { mutations: begun, seen, remains: this.remains(before.row, life), isDated };
    const isShorter = end !== undefined && (stored === undefined || end < stored);
    begun.push(...this.rewritten(mutations, before, end, now, isShorter));
    if (end === undefined) return { mutations: begun, seen };
    // A flush keeps the newest put of a column, and not the delete behind the put before (R44): so each life hides what was there,
    // or an endless put in a file would come to light. Of a history nothing is dropped while its versions are wanted, and nothing
    // goes that is as new as a write with a time of its own.
    const outlived = cellsBelow(before, mutations).filter(
      ({ family: of, qualifier: name, timestamp }) =>
        (!isDated || timestamp < now) && (isShorter || !this.isHistory(of, name)),
    );
    return { mutations: begun, seen, outlived, isDated };
  }

  private remains(row: Uint8Array, { timestamp: time = Number.POSITIVE_INFINITY }: Life): Remains {
    return {
      reads: this.whole(row),
      in: (image) =>
        [...image.all()].filter(
          ({ family, qualifier, timestamp }) => timestamp < time && this.own.hasValue(family, qualifier),
        ),
    };
  }

  /**
   * The cells of the row that the mutations do not touch, written anew so that they live as long. Those of a history keep
   * their times, so that it has no version more, unless what was there goes (`isMoved`).
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
      for (const cell of cells) touched.add(`${cell.family}:${toLatin1(cell.qualifier)}`);
    }
    const first = mutations[0]!;
    const written = first.kind === 'put' ? first.timestamp : LATEST_TIMESTAMP;
    const puts = new Map<number, Put>();
    for (const { family, qualifier, value, timestamp } of before.all()) {
      if (touched.has(`${family}:${toLatin1(qualifier)}`)) continue;
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

/** The cells that would come to light again when what is written over them has ended: all but what is added to. */
function cellsBelow(before: RowImage, mutations: readonly RowMutation[]): Cell[] {
  const added = mutations.flatMap((mutation): readonly Pick<Cell, 'family' | 'qualifier'>[] =>
    'columns' in mutation ? mutation.columns : [],
  );
  return [...before.all()].filter(
    (cell) =>
      !added.some(({ family, qualifier }) => family === cell.family && equalBytes(qualifier, cell.qualifier)),
  );
}

/** Writes of a row that lives on: without a marker of their own, and a little longer than what remains. */
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

/** Of a life that ends then, with what later writes are given for the clocks' sake. */
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

/** How long the entries of an index live: one rule for writes, builds and repairs. */

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
