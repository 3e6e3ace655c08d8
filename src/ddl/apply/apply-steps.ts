/** Does the steps of a plan to an engine's tables. */

import { fromHex } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { type Admin, DEFAULT_NAMESPACE, type TableDescriptor } from '../../table/index.js';
import { changedDescriptor } from '../plan/change-descriptor.js';
import type { SchemaStep } from '../plan/types.js';

/** What steps are done with. */
export interface StepTools {
  readonly admin: Admin;
  /** Registers the Avro schema of a subject. */
  readonly register: (subject: string) => Promise<void>;
  /** Moves the columns of an entity of a table to where they are declared. */
  readonly moveColumns: (table: string, entity: string) => Promise<void>;
  /** Writes the rows of an entity of a table as its present version. */
  readonly upgradeRows: (table: string, entity: string) => Promise<void>;
  /** Removes the rows of a retired entity of a table, and what the table notes of it. */
  readonly retire: (table: string, entity: string) => Promise<void>;
  /** Builds an index of a table's entity: `Entity.index`. */
  readonly buildIndex: (table: string, index: string) => Promise<void>;
  /** Removes an index that is not declared, by its id in hex. */
  readonly dropIndex: (table: string, id: string) => Promise<void>;
  /** Called before each change: throws when it must not be made any more (the lock was lost). */
  readonly guard: () => Promise<void>;
  /** Called for each step that is done. */
  readonly done: (step: SchemaStep) => Promise<void>;
}

const ALTERS: ReadonlySet<string> = new Set(['add-family', 'drop-family', 'set', 'stamp']);

/** In the order of the plan; the steps that alter one table are one change, made where the first of them stands. */
export async function applySteps(steps: readonly SchemaStep[], tools: StepTools): Promise<void> {
  const altered = new Set<string>();
  for (const step of steps) {
    if (!ALTERS.has(step.kind)) {
      await tools.guard();
      await applyOne(step, tools);
      await tools.done(step);
      continue;
    }
    if (altered.has(step.table)) continue;
    altered.add(step.table);
    const changes = steps.filter(({ kind, table }) => ALTERS.has(kind) && table === step.table);
    await tools.guard();
    await alter(step.table, changes, tools);
    for (const change of changes) await tools.done(change);
  }
}

async function applyOne(step: SchemaStep, tools: StepTools): Promise<void> {
  const { admin } = tools;
  const { kind, table, family } = step;
  switch (kind) {
    case 'create-namespace':
      if (table !== DEFAULT_NAMESPACE) await admin.createNamespace(table);
      return;
    case 'create-table': {
      const { descriptor, splitKeys } = step.to as { descriptor: TableDescriptor; splitKeys: string[] };
      await admin.createTable(descriptor, splitKeys.map(fromHex));
      return;
    }
    case 'register-schema':
      await tools.register(step.option!);
      return;
    case 'move-columns':
      await tools.moveColumns(table, step.option!);
      return;
    case 'upgrade-rows':
      await tools.upgradeRows(table, step.option!);
      return;
    case 'retire':
      await tools.retire(table, step.option!);
      return;
    case 'build-index':
      await tools.buildIndex(table, step.option!);
      return;
    case 'drop-index':
      await tools.dropIndex(table, step.option!);
      return;
    case 'split':
      await admin.split(table, fromHex(step.to as string));
      return;
    case 'compact':
      await admin.majorCompact(table, family);
      return;
    default:
      throw new SchemaError(`The step ${step.id} is not one that is applied.`);
  }
}

/** What the table is by then is altered: who has lost the lock while it was disabled, which may take long, sets nothing back. */
async function alter(
  table: string,
  steps: readonly SchemaStep[],
  { admin, guard }: Pick<StepTools, 'admin' | 'guard'>,
): Promise<void> {
  const changed = async (): Promise<TableDescriptor> =>
    changedDescriptor(await admin.getDescriptor(table), steps);
  // What cannot be is refused before the table is disabled.
  const target = await changed();
  const offline = steps.some((step) => step.class === 'offline') && (await admin.isTableEnabled(table));
  if (!offline) return admin.modifyTable(target);
  await admin.disableTable(table);
  try {
    await guard();
    await admin.modifyTable(await changed());
  } finally {
    await admin.enableTable(table);
  }
}
