/** Rows of one of the layouts as a whole: whether there are any, and their end. */

import type { EntitySchema } from '../../schema/types.js';
import { type AtomicStep, Delete, type Engine, type Result, Scan } from '../../table/index.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../types.js';
import {
  everyCell,
  inShortSteps,
  PassWork,
  pass,
  type RekeyTarget,
  runPasses,
  type StepTable,
  tableOf,
} from './passes.js';
import type { RowEntries } from './row-entries.js';

/** Removes every row of one of the layouts, with its entries in indexes; the other layout does not follow that. */
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
  return runPasses(target, `remove-${schema.name}`, schema.key.signature, [removing], inShortSteps(run));
}

class RemoveWork extends PassWork {
  private readonly table: StepTable;
  private readonly entries: RowEntries | undefined;

  constructor(
    private readonly target: RekeyTarget,
    private readonly schema: EntitySchema,
    private readonly context: SplitContext,
  ) {
    super();
    this.table = tableOf(target, schema);
    this.entries = target.mirror.entriesOf(schema);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.schema.key.matches(row));
    await this.table.atomic((step) =>
      this.target.mirror.quietly(() => {
        for (const { row } of own) this.remove(row, step);
      }),
    );
    this.context.count('removed', own.length);
  }

  /** The checkpoint that notes it is durable, and the log has it behind this. */
  private remove(row: Uint8Array, step: AtomicStep): void {
    const { entries, table } = this;
    const before = entries?.imageOf(row, step.read);
    step.apply({ table: table.name, change: new Delete(row).setDurability('ASYNC_WAL') });
    if (before === undefined) return;
    for (const change of entries!.removed(row, before, 'ASYNC_WAL', step.read)) step.apply(change);
  }
}

/** What stands in rows of a layout. */
export async function rowsOf(engine: Engine, schema: EntitySchema): Promise<'rows' | 'deletes' | 'nothing'> {
  const table = engine.table(schema.table.descriptor.name);
  const holds = async (scan: Scan): Promise<boolean> => {
    for await (const { row } of table.scan(scan)) if (schema.key.matches(row)) return true;
    return false;
  };
  if (await holds(new Scan().setCacheBlocks(false))) return 'rows';
  return (await holds(everyCell())) ? 'deletes' : 'nothing';
}

/** Removes the deletes of a layout without rows: they would hide what is copied with its times. */
export async function dropDeletes(engine: Engine, schema: EntitySchema): Promise<void> {
  const { name } = schema.table.descriptor;
  if ((await rowsOf(engine, schema)) === 'nothing') return;
  await engine.admin.flush(name);
  await engine.admin.majorCompact(name);
}
