/**
 * What is done to the tables of a key change on engines whose atomic step is one row: how deletes leave a trace until they are
 * copied, and how the old table refuses writes.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { throwIfAborted } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine, FamilyDescriptor, TableDescriptor } from '../../table/index.js';
import {
  closedFence,
  fencedTable,
  isFenced,
  unfencedTable,
  withoutFenceFamilies,
} from '../../table/write-fence.js';
import type { KeptDeletes, RekeyRecord, RekeyRun } from './strategy.js';

export interface RekeyTables {
  /** Why these entities cannot be changed on this engine, each a sentence. */
  problems(): string[];
  /** Prepares both tables, and lets the new one accept writes. May be called again when a process has died in it. */
  begin(run: Pick<RekeyRun, 'record' | 'set'>, signal: AbortSignal | undefined): Promise<void>;
  /**
   * Refuses writes of the old table, or accepts them again. Requested even if the table is in that state: an earlier request of a
   * dead process may still be queued, and is executed first.
   */
  setReadOnly(readOnly: boolean): Promise<void>;
  /** Restores the old table after an abort. */
  restoreOld(record: RekeyRecord): Promise<void>;
  /** Called when the old table is empty for good. It goes on to refuse writes. */
  retireOld(record: RekeyRecord): Promise<void>;
  /** Restores the new table. */
  restoreNew(record: RekeyRecord): Promise<void>;
}

const nameOf = ({ table }: EntitySchema): string => table.descriptor.name;

/** Whether a table refuses writes for another reason than that its keys were changed, in the other direction. */
const isClosed = ({ table }: EntitySchema): boolean => table.descriptor.readOnly;

/** The table as it is without what a key change sets until its end, or sets for good in the old table. */
export function withoutKeyChange(
  live: TableDescriptor,
  kept: KeptDeletes = {},
  readOnly = live.readOnly,
): TableDescriptor {
  const families = live.families.map(
    (family): FamilyDescriptor => ({
      ...family,
      keepDeletedCells: kept[family.name] ?? family.keepDeletedCells,
    }),
  );
  const table = { ...live, families, readOnly };
  return isFenced(live) ? withoutFenceFamilies(unfencedTable(table)) : table;
}

/**
 * HBase: families keep deleted cells, those of the old table to be copied, those of the new one so that they hide late copies. The
 * servers enforce read-only tables.
 */
export class KeptDeletesTables implements RekeyTables {
  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
  ) {}

  problems(): string[] {
    return [];
  }

  async begin({ record, set }: Pick<RekeyRun, 'record' | 'set'>): Promise<void> {
    await this.keepDeletes(this.from, {}, record.kept, (kept) => set({ kept }));
    const readOnly = isClosed(this.to);
    await this.keepDeletes(this.to, { readOnly }, record.keptNew, (keptNew) => set({ keptNew }));
  }

  private async keepDeletes(
    schema: EntitySchema,
    options: Partial<TableDescriptor>,
    known: KeptDeletes | undefined,
    note: (kept: KeptDeletes) => Promise<unknown>,
  ): Promise<void> {
    const { admin } = this.engine;
    const live = await admin.getDescriptor(nameOf(schema));
    const isAltered = live.families.every(({ keepDeletedCells }) => keepDeletedCells === 'TRUE');
    // Recorded before the tables are altered, also if a process was killed in between.
    if (known === undefined || !isAltered)
      await note(
        Object.fromEntries(live.families.map(({ name, keepDeletedCells }) => [name, keepDeletedCells])),
      );
    const families = live.families.map(
      (family): FamilyDescriptor => ({ ...family, keepDeletedCells: 'TRUE' }),
    );
    await admin.modifyTable({ ...live, ...options, families });
  }

  async setReadOnly(readOnly: boolean): Promise<void> {
    const { admin } = this.engine;
    const live = await admin.getDescriptor(nameOf(this.from));
    await admin.modifyTable({ ...live, readOnly });
  }

  restoreOld({ kept }: RekeyRecord): Promise<void> {
    return this.restore(this.from, kept);
  }

  retireOld({ kept }: RekeyRecord): Promise<void> {
    return this.restore(this.from, kept, true);
  }

  restoreNew({ keptNew }: RekeyRecord): Promise<void> {
    return this.restore(this.to, keptNew);
  }

  /** Restores the families' setting for deleted cells. */
  private async restore(schema: EntitySchema, kept?: KeptDeletes, readOnly = false): Promise<void> {
    const { admin } = this.engine;
    await admin.modifyTable(withoutKeyChange(await admin.getDescriptor(nameOf(schema)), kept, readOnly));
  }
}

/**
 * Bigtable: both tables have a write fence. Changes of the old one leave a trace of their rows, and are refused when its fence is
 * closed. Those of the new one show whether a row is still as a copy has left it.
 */
export class FencedTables implements RekeyTables {
  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
  ) {}

  problems(): string[] {
    return [this.from, this.to]
      .filter(({ summaries, changesKept }) => summaries.length > 0 || changesKept !== undefined)
      .map(
        ({ name }) =>
          `${name} has summaries or keeps its changes for feeds, which do not follow what is copied on this engine (${this.engine.name}). Leave them out until the keys are changed.`,
      );
  }

  async begin(_run: unknown, signal: AbortSignal | undefined): Promise<void> {
    const { admin, fenceDelay = 0 } = this.engine;
    await admin.modifyTable(fencedTable(await admin.getDescriptor(nameOf(this.from))));
    const readOnly = isClosed(this.to);
    await admin.modifyTable(fencedTable({ ...(await admin.getDescriptor(nameOf(this.to))), readOnly }));
    // Programs may know the tables as they were, and writes may be under way.
    await delay(fenceDelay, undefined, signal && { signal }).catch(() => throwIfAborted(signal));
  }

  async setReadOnly(readOnly: boolean): Promise<void> {
    const { admin } = this.engine;
    const live = await admin.getDescriptor(nameOf(this.from));
    const table: TableDescriptor = { ...live, readOnly };
    // A refused writer reads the descriptor again, and the error gives the reason.
    if (readOnly || !isFenced(live)) await admin.modifyTable(table);
    if (isFenced(live)) await admin.modifyTable(readOnly ? closedFence(table) : fencedTable(table));
  }

  restoreOld(): Promise<void> {
    return this.restore(this.from);
  }

  async retireOld(): Promise<void> {}

  restoreNew(): Promise<void> {
    return this.restore(this.to);
  }

  private async restore(schema: EntitySchema): Promise<void> {
    const { admin } = this.engine;
    const live = await admin.getDescriptor(nameOf(schema));
    const table = unfencedTable({ ...live, readOnly: false });
    await admin.modifyTable(table);
    await admin.modifyTable(withoutFenceFamilies(table));
  }
}
