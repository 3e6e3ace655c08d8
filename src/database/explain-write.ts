/** What a write of a row takes along, as it would be now. */

import { loadRowOfKey, MOST_FOLLOWING } from '../repository/index.js';
import type { EntitySchema } from '../schema/types.js';
import type { Following } from './following.js';

/** Rows that hold copies of a row. */
export interface ExplainedCopies {
  /** The entity whose rows hold the copies. */
  readonly entity: string;
  /** Own property -> property of the source. */
  readonly fields: Readonly<Record<string, string>>;
  /** How the rows are found: `key`, or the name of an index. */
  readonly foundBy: string;
  /** Rows that name this one, counted up to 10,000. */
  readonly rows: number;
  readonly fanOut: number;
  /** Whether a change is made in the step of the write, behind it while the writer waits (HBase), or by the outbox. */
  readonly how: 'step' | 'behind' | 'outbox';
}

/** What `Database.explainWrite` answers. */
export interface ExplainedWrite {
  readonly entity: string;
  /** Indexes whose entries follow the row. */
  readonly indexes: readonly string[];
  /** Copies in the row itself: the entities that a write of it reads. */
  readonly copiedFrom: readonly string[];
  /** Copies of the row in others. */
  readonly copiedTo: readonly ExplainedCopies[];
  /** Rows that name this one, and what a delete of it does to them. */
  readonly referredBy: readonly ExplainedReference[];
}

/** Rows that name one by a relation with rules. */
export interface ExplainedReference {
  readonly entity: string;
  readonly property: string;
  readonly onDelete: 'restrict' | 'cascade' | 'setNull';
  /** How the rows are found: `key`, or the name of an index. */
  readonly foundBy: string;
  /** Rows that name this one, counted up to 10,000. */
  readonly rows: number;
}

export async function explainWrite(
  { copying, referencing, reading, isRemote }: Following,
  schema: EntitySchema,
  key: object,
): Promise<ExplainedWrite> {
  const row = await loadRowOfKey(schema, key as Readonly<Record<string, unknown>>, 'explainWrite', false);
  const plans = copying.plansFrom(schema);
  const copiedTo: ExplainedCopies[] = [];
  for (const plan of plans) {
    const { rows } = await reading((step) => plan.link.find(step, row, MOST_FOLLOWING));
    copiedTo.push({
      entity: plan.entity.name,
      fields: Object.fromEntries(plan.copy.fields.map(({ column, source }) => [column.property, source])),
      foundBy: plan.link.foundBy,
      rows: rows.length,
      fanOut: plan.fanOut,
      how: rows.length > plan.fanOut ? 'outbox' : isRemote ? 'behind' : 'step',
    });
  }
  const referredBy: ExplainedReference[] = [];
  for (const { entity, link, rule } of referencing.plansAbout(schema)) {
    const { rows } = await reading((step) => link.find(step, row, MOST_FOLLOWING));
    const { property } = rule;
    const onDelete = rule.onDelete!;
    referredBy.push({ entity: entity.name, property, onDelete, foundBy: link.foundBy, rows: rows.length });
  }
  return {
    referredBy,
    entity: schema.name,
    indexes: schema.indexes.map(({ name }) => name),
    copiedFrom: copying.plansOf(schema).map(({ source }) => source.name),
    copiedTo,
  };
}
