/** The table that jobs are measured on. */

import { JobBuilder, tableSource } from '../../../src/public/jobs.js';
import { type Engine, Put, Scan, tableDescriptor } from '../../../src/public/table.js';

export const TABLE = 'bench_jobs';
export const CELLS_OF_A_ROW = 5;
const BATCH = 2000;
const GROUPS = 1000;

/** Rows of five cells of 8 to 100 bytes, flushed. */
export async function fill(engine: Engine, rows: number, create = true): Promise<void> {
  if (create) await engine.admin.createTable(tableDescriptor(TABLE, { d: {} }));
  const table = engine.table(TABLE);
  const text = Buffer.alloc(100, 'value of a column, ');
  for (let from = 0; from < rows; from += BATCH) {
    const puts: Put[] = [];
    for (let i = from; i < Math.min(from + BATCH, rows); i++) {
      const put = new Put(`row${String(i).padStart(10, '0')}`);
      put.addColumn('d', 'group', `g${(i * 7919) % GROUPS}`);
      put.addColumn('d', 'name', `name of ${i}`);
      put.addColumn('d', 'number', String(i).padStart(8, '0'));
      put.addColumn('d', 'text', text.subarray(0, 20 + (i % 80)));
      put.addColumn('d', 'time', String(1_700_000_000_000 + i));
      puts.push(put);
    }
    await table.putAll(puts);
  }
  await engine.admin.flush(TABLE);
}

/** Counts the rows of each group; answers the rows that were read. */
export async function reduceAll(engine: Engine, name: string): Promise<number> {
  let groups = 0;
  let counted = 0;
  const { rows } = await new JobBuilder(engine, name)
    .from(tableSource(TABLE, () => new Scan().setCacheBlocks(false)))
    .map<string, number>((row, emit) => emit(Buffer.from(row.getValue('d', 'group')!).toString(), 1))
    .combine((_, counts) => counts.reduce((sum, n) => sum + n, 0))
    .reduce((_, counts) => counts.reduce((sum, n) => sum + n, 0))
    .to({
      signature: 'sum',
      open: () => ({
        write(sums) {
          groups += sums.length;
          for (const sum of sums) counted += sum;
        },
      }),
    })
    .run();
  if (counted !== rows || groups !== Math.min(GROUPS, rows)) {
    throw new Error(`${counted} rows in ${groups} groups were counted of ${rows}.`);
  }
  return rows;
}
