/** Change sets of an entity with indexes, or whose rows others follow, on HBase. */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import type { OperationOptions, Result, RowMutation } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, ChangeOutcome } from '../executor.js';
import type { RemoteExecutor } from '../remote-executor.js';
import type { RowGate } from '../row-gate.js';
import type { IndexedRows } from './indexed-rows.js';

/** Rows that are changed together. */
const TOGETHER = 512;

export class IndexedExecutor implements ChangeExecutor {
  constructor(
    private readonly rows: IndexedRows,
    private readonly gate: RowGate,
    /** For what touches nothing that entries are made of. */
    private readonly plain: RemoteExecutor,
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (this.leavesEntries(change)) return this.plain.run(change, options);
    const [outcome] = await this.apply([change], options);
    if (!outcome!.ok) throw outcome!.error;
    return outcome!.result;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (const chunk of chunksOf(changes)) outcomes.push(...(await this.apply(chunk, options)));
    return outcomes;
  }

  runAtomic(): Promise<Result[]> {
    return this.plain.runAtomic();
  }

  private async apply(
    changes: readonly Change[],
    options: OperationOptions | undefined,
  ): Promise<ChangeOutcome[]> {
    const rows = changes.map(({ row }) => ({ row, alone: true }));
    const works = await this.gate.runAll(rows, () => this.rows.apply(changes, options));
    // Behind the gate: what follows may change the same rows.
    await this.rows.following?.finish(works);
    return works.map(({ outcome }) => outcome!);
  }

  /** An update of other columns, of a row that must be there: its entries stay as they are, whatever they are. */
  private leavesEntries(change: Change): boolean {
    if (change.operation !== 'update' || change.reads !== undefined) return false;
    const { indexes, planner, following, telling } = this.rows;
    if (planner.isWide || following !== undefined || telling !== undefined) return false;
    const { mutations } = change.resolve(undefined);
    planner.refuse(mutations);
    return mutations.every((mutation) =>
      cellsOf(mutation).every(
        ({ family, qualifier }) =>
          !indexes.columns.some(
            (column) => column.family === family && equalBytes(column.qualifier, qualifier),
          ),
      ),
    );
  }
}

function cellsOf(
  mutation: RowMutation,
): readonly { readonly family: string; readonly qualifier: Uint8Array }[] {
  return 'cells' in mutation ? mutation.cells : mutation.columns;
}

/** In their order; cut where a row comes again. */
function* chunksOf(changes: readonly Change[]): Generator<Change[]> {
  let chunk: Change[] = [];
  const rows = new Set<string>();
  for (const change of changes) {
    const name = toLatin1(change.row);
    if (rows.has(name) || chunk.length === TOGETHER) {
      yield chunk;
      chunk = [];
      rows.clear();
    }
    chunk.push(change);
    rows.add(name);
  }
  if (chunk.length > 0) yield chunk;
}
