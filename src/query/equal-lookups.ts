/** The look-ups of single entities by one index, by what they read of the entities. */

import type { EntityIndex } from '../indexes/index.js';
import type { KeyConditions } from '../key/types.js';
import type { SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { EqualLookUp, type NearTable } from './equal-lookup.js';
import { type FindOptions, isPlain } from './find-options.js';
import { PlainReadings, type Reading } from './index-plan.js';
import type { QuerySpec } from './query-spec.js';

/** The look-ups by one index, of one who reads. */
export class EqualLookUps {
  private readonly readings: PlainReadings;
  private readonly byReading = new WeakMap<Reading, EqualLookUp>();
  /** The last one: programs ask the same again and again. */
  private last: EqualLookUp | undefined;

  private constructor(
    private readonly index: EntityIndex,
    private readonly access: TableAccess,
    private readonly rows: NearTable,
    private readonly entries: NearTable,
  ) {
    this.readings = PlainReadings.of(index);
  }

  /** Undefined where nothing can be looked up so. */
  static of(index: EntityIndex, access: TableAccess): EqualLookUps | undefined {
    const { sync } = access;
    const entries = access.indexing?.entries.sync;
    if (index.index.several !== undefined || access.onQuery !== undefined) return undefined;
    if (index.schema.key.dictionaries !== undefined) return undefined;
    return isNear(sync) && isNear(entries) ? new EqualLookUps(index, access, sync, entries) : undefined;
  }

  /**
   * The only entity there can be, or with `first` the first; null when there is none. Undefined where another way must tell.
   * The index is active. @throws KeyError on a bad value; what the tables and the mapper throw.
   */
  find(
    spec: QuerySpec,
    key: KeyConditions,
    options: FindOptions,
    first: boolean,
  ): object | null | Promise<object | null> | undefined {
    if (spec.reversed || spec.timeRange !== undefined || spec.where.length > 0 || spec.slices.length > 0)
      return undefined;
    if (!isPlain(options)) return undefined;
    const { unique, parts, layout } = this.index.index;
    let given = 0;
    for (const _ in key) given++;
    const whole = given === parts.length;
    const only = unique && whole;
    if (!only && !first) return undefined;
    const prefix = layout.prefixOf(key);
    return prefix && this.lookUpOf(spec).find(prefix, key, only, whole);
  }

  private lookUpOf(spec: QuerySpec): EqualLookUp {
    const reading = this.readings.of(spec);
    if (this.last?.reading === reading) return this.last;
    let found = this.byReading.get(reading);
    if (found === undefined) {
      found = new EqualLookUp(this.index, reading, this.access, this.rows, this.entries);
      this.byReading.set(reading, found);
    }
    this.last = found;
    return found;
  }
}

function isNear(table: SyncTable | undefined): table is NearTable {
  return table?.getRaw !== undefined && table.firstRaw !== undefined;
}
