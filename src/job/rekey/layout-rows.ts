/** Rows of one of the layouts as a whole: whether there are any, and their end. */

import type { EntitySchema } from '../../schema/types.js';
import { Delete, type Engine, Scan } from '../../table/index.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobRunOptions } from '../types.js';
import { everyCell, inShortSteps, jobName, pass, type RekeyTarget, tableOf } from './passes.js';

/** Removes every row of one of the layouts, with its entries in indexes; the other layout does not follow that. */
export function removeLayout(
  target: RekeyTarget,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { engine, mirror } = target;
  const table = tableOf(target, schema);
  const entries = mirror.entriesOf(schema);
  const removing = pass(
    schema,
    () => new Scan().setCacheBlocks(false),
    (context) => ({
      async rows(rows) {
        const own = rows.filter(({ row }) => schema.key.matches(row));
        await table.atomic((step) =>
          mirror.quietly(() => {
            // The checkpoint that notes it is durable, and the log has it behind this.
            for (const { row } of own) {
              const before = entries?.imageOf(row, step.read);
              step.apply({ table: table.name, change: new Delete(row).setDurability('ASYNC_WAL') });
              if (before === undefined) continue;
              for (const change of entries!.removed(row, before, 'ASYNC_WAL', step.read)) step.apply(change);
            }
          }),
        );
        context.count('removed', own.length);
      },
    }),
  );
  const name = jobName(target, `remove-${schema.name}`);
  return runJob(engine, { name, signature: schema.key.signature, phases: [removing] }, inShortSteps(run));
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
