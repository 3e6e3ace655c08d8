/** Work on all rows of one layout: whether there are any (every engine), and their removal (embedded engine). */

import type { JobOutcome, JobRunOptions, SplitContext } from '../../../job/types.js';
import type { EntitySchema } from '../../../schema/types.js';
import {
  type AtomicStep,
  Delete,
  type Engine,
  type Result,
  Scan,
  type StepTable,
} from '../../../table/index.js';
import { everyCell, inShortSteps, PassWork, pass, type RekeyTarget, runPasses, tableOf } from './passes.js';
import type { RowEffects } from './row-effects.js';

/** Removes every row of a layout with its index entries and from its summaries, in this layout only. */
export function removeLayout(
  target: RekeyTarget,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const removing = pass(
    schema,
    () => new Scan().setCacheBlocks(false),
    (context) => new RemoveWork(target, schema, context),
  );
  const work = schema === target.from ? 'remove-old' : 'remove-new';
  return runPasses(target, work, schema.key.signature, [removing], inShortSteps(run));
}

class RemoveWork extends PassWork {
  private readonly table: StepTable;
  private readonly effects: RowEffects | undefined;

  constructor(
    private readonly target: RekeyTarget,
    private readonly schema: EntitySchema,
    private readonly context: SplitContext,
  ) {
    super();
    this.table = tableOf(target, schema);
    this.effects = target.dualWrites.effectsOf(schema);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.schema.key.matches(row));
    await this.table.atomic((step) =>
      this.target.dualWrites.inOneLayout(() => {
        for (const { row } of own) this.remove(row, step);
      }),
    );
    this.context.count('removed', own.length);
  }

  /** Without waiting: the checkpoint follows it in the WAL, and is durable later. */
  private remove(row: Uint8Array, step: AtomicStep): void {
    const { effects, table } = this;
    const before = effects?.imageOf(row, step.read);
    const change = new Delete(row).setDurability('ASYNC_WAL');
    step.apply({ table: table.name, change, unrecorded: true });
    if (before === undefined) return;
    for (const change of effects!.removed(row, before, 'ASYNC_WAL', step.read)) step.apply(change);
  }
}

/** Whether a layout has rows. */
export async function rowsOf(engine: Engine, schema: EntitySchema): Promise<'rows' | 'deletes' | 'nothing'> {
  const table = engine.table(schema.table.descriptor.name);
  const holds = async (scan: Scan): Promise<boolean> => {
    for await (const { row } of table.scan(scan)) if (schema.key.matches(row)) return true;
    return false;
  };
  if (await holds(new Scan().setCacheBlocks(false))) return 'rows';
  return (await holds(everyCell())) ? 'deletes' : 'nothing';
}

/** Removes the deletes of a layout without rows: they would hide copies with earlier timestamps. */
export async function dropDeletes(engine: Engine, schema: EntitySchema): Promise<void> {
  const { name } = schema.table.descriptor;
  if ((await rowsOf(engine, schema)) === 'nothing') return;
  await engine.admin.flush(name);
  await engine.admin.majorCompact(name);
}

/**
 * Empties the table of a removed layout. Its deletes would hide copies of a later run: where families keep deleted cells, and in a store
 * that is restored from its log, which knows no compactions. Rows of anything else leave it as it is.
 */
export async function emptyLayout(engine: Engine, schema: EntitySchema): Promise<void> {
  const { key, table } = schema;
  const { admin } = engine;
  const { name } = table.descriptor;
  if (table.entities.length + table.retired.length > 1) return;
  if ((await rowsOf(engine, schema)) !== 'deletes') return;
  for await (const { row } of engine.table(name).scan(everyCell())) if (!key.matches(row)) return;
  await admin.disableTable(name);
  await admin.truncateTable(name, true);
}

/** Enables the table of a layout that was to be emptied when the process ended. */
export async function enableLayout({ admin }: Engine, { table }: EntitySchema): Promise<void> {
  const { name } = table.descriptor;
  if (!(await admin.isTableEnabled(name))) await admin.enableTable(name);
}
