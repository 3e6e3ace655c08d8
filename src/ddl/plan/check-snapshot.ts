/** Declarations as a snapshot, and against one of others. */

import type { Schema } from '../../schema/index.js';
import { adoptMarkers } from '../adopt.js';
import { systemTables } from '../system-tables.js';
import { subjectStates } from './avro.js';
import { planSchema } from './plan.js';
import { readSnapshot, snapshotRegistry, writeSnapshot } from './snapshot.js';
import type { PlanOptions, SchemaPlan } from './types.js';

/** What brings the tables of a snapshot in line with declarations. */
export interface SnapshotPlan extends SchemaPlan {
  /** Names of tables that are in the snapshot and not declared any more. */
  readonly undeclared: readonly string[];
  /** Whether the declarations are those of the snapshot: no step, no contradiction, no table gone. */
  readonly same: boolean;
}

/**
 * The text of the file. Avro schemas of the one that it replaces are kept.
 * @throws InvalidArgumentError when `before` is no snapshot.
 */
export function snapshotOf(declared: Schema, before?: string): string {
  const schemas = before === undefined ? {} : readSnapshot(before).schemas;
  return writeSnapshot([...declared.tables, ...systemTables(declared)], schemas);
}

/** @throws InvalidArgumentError when the text is no snapshot. */
export async function checkSnapshot(
  declared: Schema,
  text: string,
  options: PlanOptions = {},
): Promise<SnapshotPlan> {
  const { state, schemas } = readSnapshot(text);
  const descriptors = new Map([...state.tables].map(([name, { descriptor }]) => [name, descriptor]));
  const schema = adoptMarkers(declared, descriptors);
  const subjects = await subjectStates(await snapshotRegistry(schemas), schema.entities);
  const tables = [...schema.tables, ...systemTables(schema)];
  const plan = planSchema(tables, state, subjects, options);
  const names = new Set(tables.map(({ descriptor }) => descriptor.name));
  const undeclared = [...state.tables.keys()].filter((name) => !names.has(name));
  const same = plan.steps.length + plan.contradictions.length + undeclared.length === 0;
  return { ...plan, undeclared, same };
}
