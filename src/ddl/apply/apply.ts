import { hostname, userInfo } from 'node:os';
import { fromHex } from '../../bytes/index.js';
import { ConflictError, InvalidArgumentError, SchemaError } from '../../errors.js';
import { checkOptions } from '../../table/checks.js';
import { type Admin, DEFAULT_NAMESPACE, type Engine, type TableDescriptor } from '../../table/index.js';
import { ensureTable } from '../ensure-tables.js';
import { changedDescriptor } from '../plan/plan.js';
import { type Allowance, admit, type PlanOptions, type SchemaPlan, type SchemaStep } from '../plan/types.js';
import type { StampedColumn } from '../stamp-format.js';
import { ControlTable, controlTableDescriptor, SchemaLock } from './control-table.js';
import { HistoryWriter, type PlanRecord, type ReadPlanRecord, readHistory } from './history.js';

/** Does the steps of a plan to an engine's tables. */

/** What steps are done with. */
export interface StepTools {
  readonly admin: Admin;
  /** Registers the Avro schema of a subject. */
  readonly register: (subject: string) => Promise<void>;
  /** Moves the columns of an entity of a table to where they are declared. */
  readonly moveColumns: (table: string, entity: string) => Promise<void>;
  /** Writes the rows of an entity of a table as its present version. */
  readonly upgradeRows: (table: string, entity: string) => Promise<void>;
  /** Removes what stands in a column that an entity of a table does not declare, and what the table notes of it. */
  readonly dropColumn: (table: string, entity: string, column: StampedColumn) => Promise<void>;
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
    case 'drop-column':
      await tools.dropColumn(table, step.option!, step.from as StampedColumn);
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

/** Plans and applies under the lock, and keeps the history. */

export interface ApplyOptions extends PlanOptions {
  /** Steps that are done only when they are allowed: `meaning`, `offline`, `data-loss:` and the id of a step. */
  readonly allow?: readonly Allowance[];
  /** The checksum of the plan that was looked at: another plan is not applied. */
  readonly expect?: string;
  /** Whether families are compacted whose files are to be rewritten. Default true. */
  readonly compact?: boolean;
  /** Milliseconds without a sign of life after which another one's lock is taken over. Default 30,000. */
  readonly leaseMs?: number;
  /** Milliseconds that another one's lock is waited for. Default 60,000. */
  readonly lockWaitMs?: number;
  /** Who applies, for the history. Default: user@host. */
  readonly by?: string;
  /** Called for each step when it is done. */
  readonly onStep?: (step: SchemaStep) => void;
}

export interface AppliedPlan {
  readonly plan: SchemaPlan;
  readonly done: readonly SchemaStep[];
  /** Steps that were not allowed. */
  readonly held: readonly SchemaStep[];
  /** Undefined when there was nothing to do. */
  readonly entry: PlanRecord | undefined;
}

/** What is applied, and how it is planned: made anew once the lock is held. */
export interface Applicable
  extends Pick<
    StepTools,
    'register' | 'moveColumns' | 'upgradeRows' | 'dropColumn' | 'retire' | 'buildIndex' | 'dropIndex'
  > {
  readonly engine: Engine;
  readonly plan: () => Promise<SchemaPlan>;
}

const APPLY_OPTIONS: Readonly<Record<keyof ApplyOptions, true>> = {
  prune: true,
  allow: true,
  expect: true,
  compact: true,
  leaseMs: true,
  lockWaitMs: true,
  by: true,
  onStep: true,
};

const SHORTEST_LEASE_MS = 100;

/**
 * Applies what is allowed of the plan.
 * @throws SchemaError when there are contradictions: nothing was done; InvalidArgumentError on an allowance that names
 * nothing; ConflictError when the plan is another than the expected one; RowanError `ERR_LOCKED`. When a step fails its
 * error is thrown, the steps before it stand, and the history says so.
 */
export async function applySchema(target: Applicable, options: ApplyOptions = {}): Promise<AppliedPlan> {
  checkOptions('apply', options, APPLY_OPTIONS);
  const leaseMs = milliseconds('leaseMs', options.leaseMs ?? 30_000, SHORTEST_LEASE_MS);
  const waitMs = milliseconds('lockWaitMs', options.lockWaitMs ?? 60_000, 0);
  const { engine } = target;
  await ensureTable(engine.admin, controlTableDescriptor());
  const control = new ControlTable(engine.table(controlTableDescriptor().name));
  const by = options.by ?? whoami();
  const lock = await SchemaLock.acquire(control, `${by} (process ${process.pid})`, { leaseMs, waitMs });
  try {
    const plan = await target.plan();
    refuse(plan, options.expect);
    const { admitted, held } = admit(plan, options.allow ?? []);
    const steps = options.compact === false ? admitted.filter(({ kind }) => kind !== 'compact') : admitted;
    if (steps.length === 0) return { plan, done: [], held, entry: undefined };
    const writer = await HistoryWriter.begin(control, plan, held, by, Date.now());
    try {
      await applySteps(steps, {
        admin: engine.admin,
        register: target.register,
        moveColumns: target.moveColumns,
        upgradeRows: target.upgradeRows,
        dropColumn: target.dropColumn,
        retire: target.retire,
        buildIndex: target.buildIndex,
        dropIndex: target.dropIndex,
        guard: () => lock.check(),
        done: async (step) => {
          await writer.done(step);
          options.onStep?.(step);
        },
      });
    } catch (error) {
      // Who cannot write it either has lost the lock or the engine: the next one finds the entry `running`.
      await writer.end('failed', Date.now(), error).catch(() => undefined);
      throw error;
    }
    return { plan, done: steps, held, entry: await writer.end('done', Date.now()) };
  } finally {
    await lock.release();
  }
}

/** The plans that were applied, oldest first; none where nothing was ever applied. */
export async function schemaHistory(engine: Engine): Promise<ReadPlanRecord[]> {
  const { name } = controlTableDescriptor();
  if (!(await engine.admin.tableExists(name))) return [];
  return readHistory(new ControlTable(engine.table(name)));
}

function refuse({ contradictions, checksum }: SchemaPlan, expected: string | undefined): void {
  if (contradictions.length > 0) {
    const lines = contradictions.map(({ table, message }) => `Table "${table}": ${message}`);
    throw new SchemaError(`Nothing was applied:\n${lines.join('\n')}`, lines);
  }
  if (expected !== undefined && expected !== checksum) {
    throw new ConflictError(
      `The plan is ${checksum} by now, not ${expected}: tables or declarations have changed. Look at the plan again.`,
      { details: { plan: checksum, expected } },
    );
  }
}

function milliseconds(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) return value;
  throw new InvalidArgumentError(
    `apply: ${name} is ${String(value)}; it is a whole number of milliseconds from ${least} on.`,
  );
}

function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // Containers run processes of users that have no name.
    return `${process.getuid?.() ?? 'somebody'}@${hostname()}`;
  }
}
