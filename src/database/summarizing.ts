/** The summaries of an open database: what keeps them, and where they stand. */

import { equalBytes, prefixEnd, toHex } from '../bytes/index.js';
import { hasRows, type LiveTables } from '../ddl/index.js';
import { QueryError, SchemaError } from '../errors.js';
import { changeStanding, type SummaryTarget } from '../job/links/index.js';
import {
  type ChangeParticipant,
  type Follower,
  putStanding,
  RemoteCount,
  readStanding,
  STATE_PREFIX,
  type StepReading,
  SummaryFollower,
  SummaryParticipant,
  SummaryPlan,
  SummaryReader,
  type SummaryStanding,
  stateRow,
  summaryTableName,
} from '../repository/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import type { Schema } from '../schema/index.js';
import type { SummaryName } from '../schema/summary-types.js';
import type { EntityClass, EntitySchema, TableSchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { type Engine, Scan } from '../table/index.js';
import type { Indexing } from './indexing.js';
import type { Outbox } from './outbox.js';
import { SummaryHandle } from './summary-handle.js';
import type { TableSetup } from './table-setup.js';

interface Stored extends SummaryStanding {
  readonly id: Uint8Array;
}

/** What summaries take from their database. */
export interface SummarizingSource {
  readonly engine: Engine;
  schemaOf(target: EntityClass): EntitySchema;
  readonly indexing: Indexing;
  readonly reading: StepReading;
  /** What waits on HBase; undefined: the engine has steps over rows. */
  readonly outbox: Outbox | undefined;
}

export class Summarizing {
  private byEntity = new Map<EntityClass, readonly SummaryPlan[]>();

  constructor(private readonly source: SummarizingSource) {}

  /** Takes over what is declared. @throws SchemaError naming every condition that is none. */
  adopt({ entities }: Schema): void {
    const problems: string[] = [];
    this.byEntity = new Map();
    for (const { target, summaries, name } of entities) {
      if (summaries.length === 0) continue;
      try {
        this.byEntity.set(
          target,
          summaries.map((summary) => new SummaryPlan(this.source.schemaOf(target), summary)),
        );
      } catch (error) {
        if (!(error instanceof QueryError)) throw error;
        problems.push(`${name}: the condition of a summary is wrong. ${error.message}`);
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /**
   * Brings what is stored in line with what is declared: new summaries are counted where there are no rows yet; those that
   * this program does not declare are to be counted anew, for its writes do not keep them.
   * @throws SchemaError with `tables: 'verify'` when one that is in use is not declared.
   */
  async settle(
    tables: readonly TableSchema[],
    { before, handling }: Pick<TableSetup, 'before' | 'handling'>,
  ): Promise<void> {
    for (const { descriptor, entities } of tables) {
      const name = summaryTableName(descriptor.name);
      if (!(await this.source.engine.admin.tableExists(name))) continue;
      const stored = await this.stored(name);
      for (const schema of entities) await this.settleEntity(schema, stored, before, handling === 'verify');
    }
  }

  private async settleEntity(
    schema: EntitySchema,
    stored: readonly Stored[],
    before: LiveTables,
    readOnly: boolean,
  ): Promise<void> {
    const { name, summaries } = schema;
    const undeclared = stored.filter(
      ({ entity, active, building, id }) =>
        entity === name &&
        (active !== null || building !== null) &&
        summaries.every((summary) => !equalBytes(summary.id, id)),
    );
    if (readOnly) {
      if (undeclared.length === 0) return;
      throw new SchemaError(
        `Table "${schema.table.descriptor.name}": the summary "${undeclared[0]!.summary}" of ${name} is not declared as it was built, and would ` +
          "miss what this program writes. Declare it, or open with tables: 'create', which disables it.",
        undefined,
        { details: { entity: name, summary: undeclared[0]!.summary } },
      );
    }
    for (const { id, ...standing } of undeclared) {
      const table = this.source.engine.table(summaryTableName(schema.table.descriptor.name));
      await table.put(putStanding(id, { ...standing, active: null, building: null, cursor: null }));
    }
    const missing = this.plansOf(schema).filter(({ summary }) =>
      stored.every(({ id }) => !equalBytes(id, summary.id)),
    );
    if (missing.length === 0 || (await hasRows(this.source.engine, schema, before))) return;
    for (const plan of missing)
      await changeStanding(this.targetOf(plan), (now) => (now === undefined ? { active: 1, next: 2 } : {}));
  }

  private async stored(table: string): Promise<Stored[]> {
    const scan = new Scan().withStartRow(STATE_PREFIX).withStopRow(prefixEnd(STATE_PREFIX)!);
    const found: Stored[] = [];
    for await (const result of this.source.engine.table(table).scan(scan)) {
      const standing = readStanding(result);
      if (standing !== undefined) found.push({ ...standing, id: result.row.slice(stateRow(NO_ID).length) });
    }
    return found;
  }

  private plansOf({ target }: EntitySchema): readonly SummaryPlan[] {
    return this.byEntity.get(target) ?? [];
  }

  participants(schema: EntitySchema): ChangeParticipant[] {
    const plans = this.plansOf(schema);
    return plans.length === 0 ? [] : [new SummaryParticipant(plans, () => this.source.engine.now())];
  }

  /** The same on HBase. */
  followers(schema: EntitySchema): Follower[] {
    const counts = this.plansOf(schema).map((plan) => this.countOf(plan));
    return counts.length === 0 ? [] : [new SummaryFollower(counts, () => this.source.engine.now())];
  }

  private countOf(plan: SummaryPlan): RemoteCount {
    const { engine } = this.source;
    return new RemoteCount(plan, { table: (name) => engine.table(name), now: () => engine.now() });
  }

  private targetOf(plan: SummaryPlan): SummaryTarget {
    const { engine, outbox } = this.source;
    return { engine, plan, ...(outbox !== undefined && { remote: this.countOf(plan) }) };
  }

  /** @throws QueryError when the entity has no such summary. */
  handle<C extends KeyedClass, Name extends SummaryName<C>>(
    schema: EntitySchema,
    name: Name,
  ): SummaryHandle<C, Name> {
    const plans = this.plansOf(schema);
    const plan = plans.find(({ summary }) => summary.name === name);
    if (plan === undefined) {
      const known = plans.map(({ summary }) => summary.name).join(', ');
      throw new QueryError(
        `${schema.name} has no summary ${describe(name)}. ${known === '' ? 'Declare one with @Summary.' : `It has ${known}.`}`,
        { details: { entity: schema.name, summary: name } },
      );
    }
    const { engine, indexing, reading, outbox } = this.source;
    const names = new Set(plan.summary.figures.flatMap(({ index }) => index ?? []));
    return new SummaryHandle<C, Name>({
      ...this.targetOf(plan),
      reading,
      outbox,
      reader: new SummaryReader(plan, indexing.of(schema), () => engine.now()),
      indexes: [...names].map((index) => indexing.handle(schema, index)),
      alone: (run) => indexing.alone(`summary ${toHex(plan.summary.id)}`, run),
    });
  }
}

const NO_ID = new Uint8Array(0);
