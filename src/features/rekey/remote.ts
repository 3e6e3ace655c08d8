/**
 * Changes of keys where one step is one row (HBase). Cells are copied with their times while anybody writes; what was written meanwhile is
 * copied behind it, by its time. For the last of it the servers take no writes of the old table from anybody, so that none is lost,
 * whichever programs have it open. Until the cut-over the old table keeps what is deleted in it: a delete is a cell to be copied
 * like others.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { ConflictError, RowanError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine, FamilyDescriptor } from '../../table/index.js';
import { RowMapping } from './jobs/row-mapping.js';
import {
  type CutOverOptions,
  type NoteCut,
  type RekeyRecord,
  type RekeyRun,
  type RekeyStrategy,
  SUCCESSION,
} from './strategy.js';

/** Milliseconds that the clocks of servers may be apart, and that a write may take from its time to where it is seen. */
const MARGIN = 120_000;

/**
 * How long a table may be gone, or be on its way back, that is being emptied for somebody else, and how often is looked. The master
 * needs seconds for it when it is busy: HBase's `TruncateTableProcedure` makes the table anew and opens its regions, and lets others
 * ask for changes meanwhile, which are refused.
 */
const EMPTIED_MS = 120_000;
const LOOK_MS = 50;

export class RekeyByCopies implements RekeyStrategy {
  readonly first = 'backfill';
  readonly leadsBack = false;
  readonly runsAgain = true;

  constructor(
    private readonly engine: Engine,
    private readonly from: EntitySchema,
    private readonly to: EntitySchema,
    /** Refuses writes of the new layout by this program, until it counts: they would be taken for copies. */
    private readonly guard: () => void,
    private readonly unguard: () => void,
  ) {}

  problems(): string[] {
    const { from, to } = this;
    const problems: string[] = [];
    for (const { name, table, indexes, timeToLive } of [from, to]) {
      if (table.entities.length > 1)
        problems.push(
          `On HBase the table of ${name} takes no writes for a moment, or is emptied: it must hold no other entity. Declare ${name} in a table of its own.`,
        );
      if (indexes.length > 0)
        problems.push(
          `${name} has indexes, which on HBase do not follow what is copied. Leave them out until the keys are changed, then build them.`,
        );
      if (timeToLive.lifelong)
        problems.push(
          `Rows of ${name} end by themselves, and HBase does not tell what is left of a cell's life. Let them end by the ttl of a family.`,
        );
    }
    if (from.table.descriptor.name === to.table.descriptor.name)
      problems.push(`${from.name} and ${to.name} share a table. On HBase each has its own.`);
    if ([new RowMapping(from, to), new RowMapping(to, from)].some(({ needed }) => needed.length > 0))
      problems.push(
        'A part of one key is a column of the other, and on HBase cells are copied without the rest of their rows. Declare the part in both keys.',
      );
    return problems;
  }

  async prepare(): Promise<void> {}

  async begin({ record, set, time }: RekeyRun): Promise<void> {
    this.guard();
    const { admin } = this.engine;
    const live = await admin.getDescriptor(this.from.table.descriptor.name);
    const isAltered = live.families.every(({ keepDeletedCells }) => keepDeletedCells === 'TRUE');
    // Noted before it is altered; by a process that was killed behind that, too.
    if (record.kept === undefined || !isAltered)
      await set({
        kept: Object.fromEntries(live.families.map(({ name, keepDeletedCells }) => [name, keepDeletedCells])),
      });
    const families = live.families.map(
      (family): FamilyDescriptor => ({ ...family, keepDeletedCells: 'TRUE' }),
    );
    await admin.modifyTable({ ...live, families });
    await set({ since: (await time()) - MARGIN });
  }

  async copy({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.guard();
    const { copyCells } = await import('./jobs/remote-copy.js');
    await copyCells(target, 'copy', 0, options);
  }

  /** Copies what was written since the last pass began; how both compare can be told when nobody writes. */
  async verify(run: RekeyRun, options: JobRunOptions): Promise<undefined> {
    this.guard();
    await this.catchUp(run, options);
  }

  private async catchUp({ target, record, set, time }: RekeyRun, options: JobRunOptions): Promise<void> {
    const since = (await time()) - MARGIN;
    const { copyCells } = await import('./jobs/remote-copy.js');
    await copyCells(target, 'catch-up', record.since ?? 0, { ...options, restart: true });
    await set({ since });
  }

  async cutOver(
    run: RekeyRun,
    { compare = true, signal }: CutOverOptions,
    note: NoteCut,
  ): Promise<RekeyRecord> {
    const options = signal === undefined ? {} : { signal };
    await this.setReadOnly(true);
    try {
      // An abort may have emptied the new table before that was done.
      await run.checkCutting();
      await this.catchUp(run, options);
      const { compareFrozen } = await import('./jobs/remote-copy.js');
      const found = compare ? { ...(await compareFrozen(run.target, options)), entries: 0 } : undefined;
      await this.checkReadOnly();
      return await note(found);
    } catch (error) {
      await this.giveUp(run);
      throw error;
    }
  }

  /** What was written since would be nowhere else. */
  private async checkReadOnly(): Promise<void> {
    const { name } = this.from.table.descriptor;
    if ((await this.engine.admin.getDescriptor(name)).readOnly) return;
    throw new ConflictError(
      `Table "${name}" was made to take writes while it was cut over: another process aborts the change of its keys, or alters the table. Cut over again when that is done.`,
      { details: { table: name } },
    );
  }

  /** The old table takes writes again, unless it takes none for another process that cuts over, or has done so. */
  private async giveUp({ record, now }: RekeyRun): Promise<void> {
    const { state, cutting = record.cutting } = await now();
    if (SUCCESSION.indexOf(state) >= SUCCESSION.indexOf('cut-over') || cutting !== record.cutting) return;
    await this.setReadOnly(false);
    if ((await now()).state === 'cut-over') await this.setReadOnly(true);
  }

  /** The old table has taken no writes since the cut-over. */
  async lost(): Promise<undefined> {}

  counts(): void {
    this.unguard();
  }

  async removeOld(): Promise<void> {
    await this.empty(this.from);
  }

  async removeNew({ record }: RekeyRun): Promise<void> {
    await this.empty(this.to);
    const { admin } = this.engine;
    const live = await admin.getDescriptor(this.from.table.descriptor.name);
    const { kept = {} } = record;
    const families = live.families.map(
      (family): FamilyDescriptor => ({
        ...family,
        keepDeletedCells: kept[family.name] ?? family.keepDeletedCells,
      }),
    );
    await admin.modifyTable({ ...live, families, readOnly: false });
    this.unguard();
  }

  /** Asked for though the table is so already: what a process asked for that is dead since may not have been done yet, and is done before. */
  private async setReadOnly(readOnly: boolean): Promise<void> {
    const { admin } = this.engine;
    const live = await admin.getDescriptor(this.from.table.descriptor.name);
    await admin.modifyTable({ ...live, readOnly });
  }

  /** Its regions stay; it takes no writes where it took none before. */
  private async empty({ name: entity, table }: EntitySchema): Promise<void> {
    const { admin } = this.engine;
    const { name } = table.descriptor;
    for (let overtaken: number | undefined; ; await delay(LOOK_MS)) {
      if (!(await this.comesBack(name)))
        throw new ConflictError(
          `Table "${name}" of ${entity} is not there any more: nothing is left to be removed.`,
          { details: { table: name } },
        );
      try {
        if (await admin.isTableEnabled(name)) await admin.disableTable(name);
        await admin.truncateTable(name, true);
        return;
      } catch (error) {
        overtaken ??= performance.now();
        if (!isOvertaken(error) || performance.now() - overtaken > EMPTIED_MS) throw error;
      }
    }
  }

  /** Whether a table is there, or soon is: who empties it, for a process that was killed since, takes it away and makes it anew. */
  private async comesBack(name: string): Promise<boolean> {
    const { admin } = this.engine;
    for (const began = performance.now(); ; await delay(LOOK_MS)) {
      if (await admin.tableExists(name)) return true;
      if (performance.now() - began > EMPTIED_MS) return false;
    }
  }
}

/** The table was enabled, disabled or taken away meanwhile: the master ends what a process had asked for that was killed since. */
function isOvertaken(error: unknown): boolean {
  return (
    error instanceof RowanError &&
    ['ERR_TABLE_ENABLED', 'ERR_TABLE_DISABLED', 'ERR_TABLE_NOT_FOUND'].includes(error.code)
  );
}
