/** Counts rows (HBase RowCounter), and rows with their cells by family and column (CellCounter). */

import { toStringBinary } from '../bytes/index.js';
import { runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome, SplitContext, SplitWork } from '../job/types.js';
import { type Engine, filters } from '../table/index.js';

/** Counts the rows of a table: `counters.rows`. @throws RowanError `ERR_TABLE_NOT_FOUND`. */
export function countRows(engine: Engine, table: string, options: ToolOptions = {}): Promise<JobOutcome> {
  return runPass(engine, options, {
    tool: 'count',
    table,
    readsOnly: true,
    scan: () =>
      scanOf({ ...options, versions: 1 }, false).setFilter(
        filters.all(filters.firstKeyOnly(), filters.keyOnly()),
      ),
    open: (context) => rowCounts(context, options.raw !== true),
  });
}

/** `raw`: rows are counted without objects of them, which a scan of delete markers has not. */
function rowCounts(context: SplitContext, raw: boolean): SplitWork {
  let counted = 0;
  const row = (): void => void counted++;
  const flush = (): void => {
    context.count('rows', counted);
    counted = 0;
  };
  return { rows: (rows) => context.count('rows', rows.length), raw: raw ? { row, flush } : undefined };
}

/** How many distinct columns are counted separately; cells of further ones count as `(other)`. */
const MAX_COLUMNS = 1000;

/**
 * Counts what HBase's CellCounter counts: `rows`, `cells`, `bytes`; `family:f rows`, `family:f cells`; `column:f:q
 * cells`, `column:f:q rows` for the first 1,000 columns of each split.
 */
export function countCells(engine: Engine, table: string, options: ToolOptions = {}): Promise<JobOutcome> {
  return runPass(engine, options, {
    tool: 'cells',
    table,
    readsOnly: true,
    scan: () => scanOf(options, false),
    open: cellCounts,
  });
}

function cellCounts(context: SplitContext): SplitWork {
  const columns = new Set<string>();
  return {
    rows(rows) {
      for (const { cells } of rows) {
        context.count('rows');
        const seen = new Set<string>();
        const once = (name: string): void => {
          if (seen.has(name)) return;
          seen.add(name);
          context.count(name);
        };
        for (const { family, qualifier, value } of cells) {
          context.count('cells');
          context.count('bytes', value.length);
          context.count(`family:${family} cells`);
          once(`family:${family} rows`);
          let column = `column:${family}:${toStringBinary(qualifier)}`;
          if (!columns.has(column)) {
            if (columns.size < MAX_COLUMNS) columns.add(column);
            else column = `column:${family}:(other)`;
          }
          context.count(`${column} cells`);
          once(`${column} rows`);
        }
      }
    },
  };
}
