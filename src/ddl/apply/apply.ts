import { hostname, userInfo } from 'node:os';
import { fromHex } from '../../bytes/index.js';
import { ConflictError, InvalidArgumentError, SchemaError } from '../../errors.js';
import { checkOptions } from '../../table/checks.js';
import { type Admin, DEFAULT_NAMESPACE, type Engine, type TableDescriptor } from '../../table/index.js';
import { ensureTable } from '../ensure-tables.js';
import { changedDescriptor } from '../plan/plan.js';
import { type Allowance, admit, type PlanOptions, type SchemaPlan, type SchemaStep } from '../plan/types.js';
import { ControlTable, controlTableDescriptor, SchemaLock } from './control-table.js';
import { HistoryWriter, type PlanRecord, type ReadPlanRecord, readHistory } from './history.js';

// — Applies the steps of a plan to an engine's tables.

/** Kinds of steps that features carry out. */
type FeatureStepKind =
  /** Moves the values of the columns of the entity `option` to the declared places. */
  | 'move-columns'
  /** Rewrites the rows of the entity `option` as its present schema version. */
  | 'upgrade-rows'
  /** Deletes the cells of the column `from`, which the entity `option` does not declare, and its entry in the stamp. */
  | 'drop-column'
  /** Deletes the rows of the retired entity `option`, and its stamp. */
  | 'retire'
  /** Builds the index `option`: `Entity.index`. */
  | 'build-index'
  /** Removes an index that is not declared, by its id `option` in hex. */
  | 'drop-index';

/** Functions that carry out steps of a plan, by their kind. */
export type FeatureSteps = Readonly<Partial<Record<FeatureStepKind, (step: SchemaStep) => Promise<unknown>>>>;

/** The operations that steps need. */
interface StepTools {
  readonly admin: Admin;
  /** Registers the Avro schema of a subject. */
  readonly register: (subject: string) => Promise<void>;
  readonly steps: FeatureSteps;
  /** Called before each change; throws if the change must not be made any more (the lock was lost). */
  readonly guard: () => Promise<void>;
  /** Called after each step. */
  readonly done: (step: SchemaStep) => Promise<void>;
}

const ALTERS: ReadonlySet<string> = new Set(['add-family', 'drop-family', 'set', 'stamp']);

/**
 * Applies the steps in the order of the plan. All steps that alter one table are one change, made at the position of
 * the first of them.
 */
async function applySteps(steps: readonly SchemaStep[], tools: StepTools): Promise<void> {
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
  const carryOut = tools.steps[kind as FeatureStepKind];
  if (carryOut !== undefined) {
    await carryOut(step);
    return;
  }
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
    case 'split':
      await admin.split(table, fromHex(step.to as string));
      return;
    case 'compact':
      await admin.majorCompact(table, family);
      return;
    default:
      throw new SchemaError(`The step ${step.id} is not a step that can be applied.`);
  }
}

/**
 * Alters the table as it is at that moment. A process that lost the lock while the table was disabled, which may take
 * long, therefore does not revert changes of others.
 */
async function alter(
  table: string,
  steps: readonly SchemaStep[],
  { admin, guard }: Pick<StepTools, 'admin' | 'guard'>,
): Promise<void> {
  const changed = async (): Promise<TableDescriptor> =>
    changedDescriptor(await admin.getDescriptor(table), steps);
  // Refuses impossible changes before the table is disabled.
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

// — Plans and applies changes under the schema lock, and records them in the history.

export interface ApplyOptions extends PlanOptions {
  /** Steps that are applied only if allowed: `meaning`, `offline`, `data-loss:` and the id of a step. */
  readonly allow?: readonly Allowance[];
  /** The checksum of the plan that was reviewed: a different plan is not applied. */
  readonly expect?: string;
  /** Whether to run major compactions on families whose files must be rewritten. Default true. */
  readonly compact?: boolean;
  /** How long, in ms, the lock of another process is respected without a heartbeat. Default 30,000. */
  readonly leaseMs?: number;
  /** How long to wait for another process's lock, in ms. Default 60,000. */
  readonly lockWaitMs?: number;
  /** The person or program that applies the plan, for the history. Default: user@host. */
  readonly by?: string;
  /** Called after each step. */
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

/** The target of a plan. The plan is computed again once the lock is held. */
export interface Applicable extends Pick<StepTools, 'register' | 'steps'> {
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
 * Applies the allowed steps of the plan.
 * @throws SchemaError when there are contradictions (nothing is applied); InvalidArgumentError on an unknown allowance;
 * ConflictError when the plan differs from the expected one; RowanError `ERR_LOCKED`. If a step fails, its error is
 * thrown, the steps before it remain applied, and the history records it.
 */
export async function applySchema(target: Applicable, options: ApplyOptions = {}): Promise<AppliedPlan> {
  checkOptions('apply', options, APPLY_OPTIONS);
  return underSchemaLock(target, options, async (session) => {
    const plan = await target.plan();
    refuse(plan, options.expect);
    const { admitted, held } = admit(plan, options.allow ?? []);
    const steps = options.compact === false ? admitted.filter(({ kind }) => kind !== 'compact') : admitted;
    return { plan, done: steps, held, entry: await session.run({ plan: plan.checksum, steps, held }) };
  });
}

/** How the lock is taken, and how progress is reported. */
export type SessionOptions = Pick<ApplyOptions, 'leaseMs' | 'lockWaitMs' | 'by' | 'onStep'>;

/** The work of one process while it holds the schema lock. */
export interface SchemaSession {
  readonly control: ControlTable;
  /** Who does it: `user@host`. */
  readonly by: string;
  /** Carries out steps, and records them in the history. Undefined when there are none. */
  run(work: RecordedWork): Promise<PlanRecord | undefined>;
  /** @throws RowanError `ERR_LOCKED` when another process has taken the lock. */
  check(): Promise<void>;
}

interface RecordedWork {
  /** The checksum of the plan, or of the migration. */
  readonly plan: string;
  readonly migration?: string;
  /** Whether the steps undo the migration. */
  readonly undo?: true;
  readonly steps: readonly SchemaStep[];
  readonly held: readonly SchemaStep[];
}

/** Runs `use` under the schema lock. @throws RowanError `ERR_LOCKED` while another process holds it. */
export async function underSchemaLock<T>(
  target: Applicable,
  options: SessionOptions,
  use: (session: SchemaSession) => Promise<T>,
): Promise<T> {
  const leaseMs = milliseconds('leaseMs', options.leaseMs ?? 30_000, SHORTEST_LEASE_MS);
  const waitMs = milliseconds('lockWaitMs', options.lockWaitMs ?? 60_000, 0);
  const { engine } = target;
  await ensureTable(engine.admin, controlTableDescriptor());
  const control = new ControlTable(engine.table(controlTableDescriptor().name));
  const by = options.by ?? whoami();
  const lock = await SchemaLock.acquire(control, `${by} (process ${process.pid})`, { leaseMs, waitMs });
  const run = async ({ steps, ...work }: RecordedWork): Promise<PlanRecord | undefined> => {
    if (steps.length === 0) return undefined;
    const writer = await HistoryWriter.begin(control, work, by, Date.now());
    try {
      await applySteps(steps, {
        admin: engine.admin,
        register: target.register,
        steps: target.steps,
        guard: () => lock.check(),
        done: async (step) => {
          await writer.done(step);
          options.onStep?.(step);
        },
      });
    } catch (error) {
      // If this write fails too, the lock or the engine is lost. The next process finds the entry `running` and marks
      // it as abandoned.
      await writer.end('failed', Date.now(), error).catch(() => undefined);
      throw error;
    }
    return writer.end('done', Date.now());
  };
  try {
    return await use({ control, by, run, check: () => lock.check() });
  } finally {
    await lock.release();
  }
}

/** The applied plans, oldest first; empty if none was ever applied. */
export async function schemaHistory(engine: Engine): Promise<ReadPlanRecord[]> {
  const { name } = controlTableDescriptor();
  if (!(await engine.admin.tableExists(name))) return [];
  return readHistory(new ControlTable(engine.table(name)));
}

export function refuse({ contradictions, checksum }: SchemaPlan, expected: string | undefined): void {
  if (contradictions.length > 0) {
    const lines = contradictions.map(({ table, message }) => `Table "${table}": ${message}`);
    throw new SchemaError(`Nothing was applied:\n${lines.join('\n')}`, lines);
  }
  if (expected !== undefined && expected !== checksum) {
    throw new ConflictError(
      `The plan is now ${checksum}, not ${expected}: tables or declarations have changed. Review the new plan.`,
      { details: { plan: checksum, expected } },
    );
  }
}

function milliseconds(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min && value < 2 ** 31) return value;
  throw new InvalidArgumentError(
    `apply: ${name} is ${String(value)}; it must be a whole number of milliseconds, at least ${min}.`,
  );
}

function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // In containers, processes may run as a user without a name.
    return `${process.getuid?.() ?? 'somebody'}@${hostname()}`;
  }
}
