/** Rows of cells out of files, whatever their format: what import and bulkload read. */

import type { Result } from '../../table/index.js';
import { type CellFileFormat, CellFiles, type PartRow } from '../files/cell-files.js';
import type { JobReadable, RowRange, SplitContext } from '../types.js';

export interface CellSource {
  /** Part of the job's signature. */
  readonly signature: string;
  readonly table: JobReadable;
  readonly ranges: readonly RowRange[];
  /** The rows that one row of the readable stands for. */
  rows(row: Result, context: SplitContext): readonly Result[] | Promise<readonly Result[]>;
}

/** Sequence files of HBase's Export, or HFiles. @throws as `CellFiles.open`. */
export async function cellFilesSource(paths: readonly string[], format: CellFileFormat): Promise<CellSource> {
  const files = await CellFiles.open(paths, format);
  return {
    signature: `${format} ${JSON.stringify(paths)} of ${files.identity}`,
    table: files,
    ranges: files.ranges,
    rows: (row) => (row as PartRow).rows,
  };
}
