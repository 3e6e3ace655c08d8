import { QueryError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import type { RowMaintainer } from '../../repository/index.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import { checkGiven } from '../../table/checks.js';
import type { Feature, FeatureContext } from '../feature.js';
import type { DrainOptions, Outbox } from '../outbox.js';
import type { MutualReport, MutualRows } from './jobs.js';
import { MirrorMaintainer, MirrorPlan } from './mirror.js';

/** The mutual links of an entity (docs/relations.md). Made by `Database.mutual`. */
export class MutualHandle {
  constructor(
    private readonly rows: MutualRows,
    private readonly outbox: Outbox,
  ) {}

  /** Compares both rows of every link. Changes nothing. */
  async check(run?: JobRunOptions): Promise<MutualReport> {
    const { checkMirrors } = await import('./jobs.js');
    return checkMirrors(this.rows, false, run);
  }

  /**
   * As `check`, and writes missing mirrors. Of two rows that differ, the one whose key sorts first counts. Needed when
   * `mutual` is declared for stored rows, and after direct writes. A second repair changes nothing.
   */
  async repair(options: JobRunOptions & DrainOptions = {}): Promise<MutualReport> {
    const { settledAfter, ...run } = checkGiven('repair', options);
    await this.outbox.drain(settledAfter === undefined ? {} : { settledAfter });
    const { checkMirrors } = await import('./jobs.js');
    return checkMirrors(this.rows, true, run);
  }
}

/** The mutual links of an open database. */
export class MutualFeature implements Feature {
  private plans = new Map<EntityClass, MirrorPlan>();

  constructor(private readonly context: FeatureContext) {}

  adopt({ entities }: AdoptedSchema): void {
    this.plans = new Map();
    for (const { target, mutual } of entities)
      if (mutual !== undefined) this.plans.set(target, new MirrorPlan(this.context.schemaOf(target)));
  }

  maintainers({ target }: EntitySchema): RowMaintainer[] {
    const plan = this.plans.get(target);
    return plan === undefined ? [] : [new MirrorMaintainer(plan, this.context)];
  }

  writtenRow({ target }: EntitySchema): ((row: Uint8Array) => Uint8Array) | undefined {
    const plan = this.plans.get(target);
    return plan && ((row) => plan.firstOf(row));
  }

  /** @throws QueryError when the entity is not mutual. */
  handle({ target, name }: EntitySchema): MutualHandle {
    const plan = this.plans.get(target);
    if (plan === undefined) {
      throw new QueryError(
        `${name} is not mutual. Declare the two parts of its key: @Entity({ table, mutual: ['person', 'friend'] }).`,
        { details: { entity: name } },
      );
    }
    const { engine, driver, isRemote, outbox, reading } = this.context;
    const repair = (row: Uint8Array): Promise<number> => this.repair(plan, row);
    const rows = isRemote ? { remote: { reading, repair } } : { driver };
    return new MutualHandle({ engine, plan, ...rows }, outbox);
  }

  /** HBase: makes both rows of a link equal. @returns the number of rows that were written. */
  private async repair(plan: MirrorPlan, row: Uint8Array): Promise<number> {
    const { reading, applyChanges } = this.context;
    const { compareMirror } = await import('./jobs.js');
    const change = await reading((step) => {
      const image = plan.read(step, row);
      return plan.has(image) ? compareMirror(plan, image, (at) => plan.read(step, at))?.change : undefined;
    });
    const repaired = change === undefined ? 0 : await applyChanges([change]);
    await new MirrorMaintainer(plan, this.context).settle(row);
    return repaired;
  }
}
