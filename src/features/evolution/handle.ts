/** Moves columns, upgrades rows, and drops columns and rows that are no longer declared (docs/schema.md). */

import { droppedStamp, metadataWithout, movedStamp, type StampedColumn } from '../../ddl/index.js';
import { InvalidArgumentError, UnsupportedError } from '../../errors.js';
import type { JobOutcome, JobRunOptions } from '../../job/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../../schema/types.js';
import type { TableDescriptor } from '../../table/index.js';
import type { Feature, FeatureContext } from '../feature.js';
import { indexTableName } from '../indexes/entry.js';
import { readIndexes } from '../indexes/states.js';

/** Changes of an entity's rows that users may start themselves: `SchemaTools` has them, and says what they throw. */
export interface Evolution {
  moveColumns(target: EntityClass, run?: JobRunOptions): Promise<JobOutcome>;
  settleColumns(target: EntityClass): Promise<void>;
  upgradeRows(target: EntityClass, run?: JobRunOptions): Promise<JobOutcome>;
}

/** Migrates rows as steps of schema plans, and on demand. */
export class EvolutionFeature implements Feature, Evolution {
  readonly schemaSteps: NonNullable<Feature['schemaSteps']> = {
    'move-columns': ({ table, option }) => this.moveColumns(this.entityIn(table, option).target),
    'upgrade-rows': ({ table, option }) => this.upgradeRows(this.entityIn(table, option).target),
    'drop-column': ({ table, option, from }) =>
      this.dropColumn(this.entityIn(table, option), from as StampedColumn),
    retire: ({ table, option }) => {
      const { retired } = this.tableOf(table);
      return this.removeRows(retired.find(({ name }) => name === option)!);
    },
  };

  constructor(private readonly context: FeatureContext) {}

  async moveColumns(target: EntityClass, run: JobRunOptions = {}): Promise<JobOutcome> {
    const entity = this.movingEntity(target);
    const { property, milliseconds } = entity.timeToLive;
    if (property !== undefined || milliseconds !== undefined) {
      throw new UnsupportedError(
        `The rows of ${entity.name} end, and cells that are moved would not. Wait until those that were written before have ended, then call settleColumns().`,
        { details: { entity: entity.name } },
      );
    }
    const { moveColumns } = await import('./jobs.js');
    const outcome = await moveColumns(this.context.stored, entity, run);
    await this.note(entity, movedStamp);
    return outcome;
  }

  async settleColumns(target: EntityClass): Promise<void> {
    await this.note(this.movingEntity(target), movedStamp);
  }

  async upgradeRows(target: EntityClass, run: JobRunOptions = {}): Promise<JobOutcome> {
    const entity = this.context.declared().entity(target);
    if (entity.upgrades.length === 0) {
      throw new InvalidArgumentError(
        `${entity.name} is declared without @Upgrade: nothing says what to make of its rows.`,
        {
          details: { entity: entity.name },
        },
      );
    }
    const { upgradeRows } = await import('./jobs.js');
    const outcome = await upgradeRows(this.context.stored, entity, run);
    await this.note(entity, movedStamp);
    return outcome;
  }

  private async dropColumn(entity: EntitySchema, column: StampedColumn): Promise<void> {
    const { dropColumn } = await import('./jobs.js');
    await dropColumn(this.context.stored, entity, column);
    await this.note(entity, (_, live) => droppedStamp(entity, live, column));
  }

  private async removeRows(entity: EntitySchema): Promise<void> {
    const { removeRows } = await import('./jobs.js');
    const { removeIndex } = await import('../indexes/jobs/index-jobs.js');
    await removeRows(this.context.stored, entity);
    const { admin } = this.context.stored;
    const table = entity.table.descriptor.name;
    const stored = (await readIndexes(admin, [table])).get(table) ?? new Map();
    for (const [id, index] of stored) {
      if (index.entity === entity.name) await removeIndex(this.context.stored, indexTableName(table), id);
    }
    const live = await admin.getDescriptor(table);
    await admin.modifyTable({ ...live, metadata: metadataWithout(entity, live) });
  }

  private movingEntity(target: EntityClass): EntitySchema {
    const entity = this.context.declared().entity(target);
    if (entity.columns.some(({ was }) => was.length > 0)) return entity;
    throw new InvalidArgumentError(
      `No column of ${entity.name} has moved: none is declared with { was: [...] }.`,
      { details: { entity: entity.name } },
    );
  }

  /** Updates what the table's metadata records about an entity. */
  private async note(
    entity: EntitySchema,
    stamp: (entity: EntitySchema, live: TableDescriptor) => Record<string, string>,
  ): Promise<void> {
    const { admin } = this.context.stored;
    const live = await admin.getDescriptor(entity.table.descriptor.name);
    const metadata = { ...live.metadata, ...stamp(entity, live) };
    await admin.modifyTable({ ...live, metadata });
  }

  private tableOf(table: string): TableSchema {
    return this.context.declared().tables.find(({ descriptor }) => descriptor.name === table)!;
  }

  private entityIn(table: string, name: string | undefined): EntitySchema {
    return this.tableOf(table).entities.find((entity) => entity.name === name)!;
  }
}
