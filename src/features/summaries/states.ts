/** The stored states of summaries, and what an opening and a deployment make of them. */

import { equalBytes, prefixEnd } from '../../bytes/index.js';
import type { LiveTables } from '../../ddl/index.js';
import { SchemaError } from '../../errors.js';
import type { EntitySchema, TableSchema } from '../../schema/types.js';
import { canonicalTableName, type Engine, Scan } from '../../table/index.js';
import { hasRows } from '../indexes/states.js';
import type { SummaryTarget } from './jobs.js';
import type { SummaryPlan } from './plan.js';
import {
  parseRecord,
  putRecord,
  STATE_PREFIX,
  type SummaryRecord,
  stateRow,
  summaryTableName,
} from './rows.js';

interface Stored extends SummaryRecord {
  readonly id: Uint8Array;
}

/** The parts of the feature that decide on states. */
interface StatesSource {
  readonly engine: Engine;
  readonly isRemote: boolean;
  plansOf(entity: EntitySchema): readonly SummaryPlan[];
  targetOf(plan: SummaryPlan): SummaryTarget;
}

/** Compares the stored states of summaries with the declarations. */
export class SummaryStates {
  constructor(private readonly source: StatesSource) {}

  /**
   * Updates the stored states to match the declarations: a new summary of an empty table is active at once. Summaries
   * that this program does not declare must be counted again, since its writes do not update them.
   * @param before the tables as they were before this program opened them.
   * @param readOnly `tables: 'verify'`: nothing is written.
   * @throws SchemaError with `readOnly` when one that is in use is not declared.
   */
  async open(tables: readonly TableSchema[], before: LiveTables, readOnly: boolean): Promise<void> {
    const names = tables.map(({ descriptor }) => canonicalTableName(summaryTableName(descriptor.name)));
    const found = await this.source.engine.admin.getDescriptors(names);
    for (const { descriptor, entities } of tables) {
      const name = canonicalTableName(summaryTableName(descriptor.name));
      if (!found.some((table) => table.name === name)) continue;
      const stored = await this.stored(name);
      for (const schema of entities) await this.settle(schema, stored, before, readOnly);
    }
  }

  private async settle(
    schema: EntitySchema,
    stored: readonly Stored[],
    before: LiveTables,
    readOnly: boolean,
  ): Promise<void> {
    const { name } = schema;
    const plans = this.source.plansOf(schema);
    const inUse = stored.filter(
      ({ entity, active, building }) => entity === name && (active !== null || building !== null),
    );
    // If rows have started or stopped to expire, the contribution of each row is unknown or not stored.
    const undeclared = inUse.filter(
      ({ id, ends }) =>
        !plans.some((plan) => equalBytes(plan.summary.id, id) && (ends ?? plan.ends) === plan.ends),
    );
    if (readOnly) {
      const [other] = undeclared;
      if (other === undefined) return;
      const { summary } = other;
      const remedy = plans.some((plan) => plan.summary.name === summary)
        ? 'Count it as it is declared now: rowan summary build'
        : 'Declare it';
      throw new SchemaError(
        `Table "${schema.table.descriptor.name}": the summary "${summary}" of ${name} is not declared as it was built, so it would ` +
          `miss what this program writes. ${remedy}, or open with tables: 'create', which disables it.`,
        undefined,
        { details: { entity: name, summary } },
      );
    }
    for (const { id, ...state } of undeclared) {
      const table = this.source.engine.table(summaryTableName(schema.table.descriptor.name));
      await table.put(putRecord(id, { ...state, active: null, building: null, cursor: null }));
    }
    await this.noteEnds(plans, inUse);
    const missing = plans.filter(({ summary }) => stored.every(({ id }) => !equalBytes(id, summary.id)));
    if (missing.length === 0 || (await hasRows(this.source.engine, schema, before))) return;
    const { changeRecord } = await import('./jobs.js');
    for (const plan of missing)
      await changeRecord(this.source.targetOf(plan), (now) =>
        now === undefined ? { active: 1, next: 2 } : {},
      );
  }

  /**
   * Adds the expiry of summaries stored by earlier releases. On HBase rows of entities with summaries do not expire.
   */
  private async noteEnds(plans: readonly SummaryPlan[], inUse: readonly Stored[]): Promise<void> {
    if (this.source.isRemote) return;
    for (const plan of plans) {
      const known = inUse.find(({ id }) => equalBytes(id, plan.summary.id));
      if (known === undefined || known.ends !== undefined) continue;
      const { changeRecord } = await import('./jobs.js');
      await changeRecord(this.source.targetOf(plan), () => ({}));
    }
  }

  /** What must be built before it can be read, each a sentence that names the command. */
  async unbuilt(entities: readonly EntitySchema[]): Promise<string[]> {
    const { engine, isRemote } = this.source;
    const lines: string[] = [];
    for (const schema of entities) {
      const plans = this.source.plansOf(schema);
      if (plans.length === 0) continue;
      const { name } = schema.table.descriptor;
      const names = [name, summaryTableName(name)].map(canonicalTableName);
      const live = new Map((await engine.admin.getDescriptors(names)).map((table) => [table.name, table]));
      // A table that is missing is made by a step.
      if (names.some((table) => !live.has(table))) continue;
      const stored = await this.stored(names[1]!);
      for (const plan of plans) {
        const state = stored.find(({ id }) => equalBytes(id, plan.summary.id));
        if (state === undefined) {
          // The next opening of the embedded store makes one without rows active.
          if (isRemote || (await hasRows(engine, schema, live))) lines.push(unbuiltLine(plan));
        } else if ((state.ends ?? plan.ends) !== plan.ends) lines.push(endsLine(plan));
        else if (state.active === null) lines.push(unbuiltLine(plan));
      }
    }
    return lines;
  }

  private async stored(table: string): Promise<Stored[]> {
    const scan = new Scan().withStartRow(STATE_PREFIX).withStopRow(prefixEnd(STATE_PREFIX)!);
    const found: Stored[] = [];
    for await (const result of this.source.engine.table(table).scan(scan)) {
      const state = parseRecord(result);
      if (state !== undefined) found.push({ ...state, id: result.row.slice(stateRow(NO_ID).length) });
    }
    return found;
  }
}

const NO_ID = new Uint8Array(0);

function unbuiltLine({ schema, summary }: SummaryPlan): string {
  return `The summary "${summary.name}" of ${schema.name} is not built as it is declared, so it cannot be read: run rowan summary build.`;
}

function endsLine({ schema, summary, ends }: SummaryPlan): string {
  const again = ends ? '' : ' Rows that were written before still expire: run it again when all have.';
  return `Rows of ${schema.name} have ${ends ? 'begun' : 'ceased'} to expire, so the summary "${summary.name}" must be counted anew: run rowan summary build.${again}`;
}
