import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { EntryRepair } from '../../features/indexes/query/access.js';
import { verified } from '../../features/indexes/remote.js';
import type { Cell, OperationOptions, Result, RowMutation, RowMutations } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, ChangeOutcome } from '../executor.js';
import { WholeCall } from '../options.js';
import type { RemoteExecutor } from '../remote-executor.js';
import { RowImage } from '../row-image.js';
import type { RowLock } from '../row-lock.js';
import type { IntentDriver } from './intent-driver.js';
import type { Suspect } from './row-work.js';

/** Change sets of an entity with indexes, maintainers or recorded changes, on HBase. */

/** Rows that are changed together. */
const TOGETHER = 512;

export class IntentExecutor implements ChangeExecutor {
  constructor(
    private readonly rows: IntentDriver,
    private readonly gate: RowLock,
    /** For what touches nothing that entries are made of. */
    private readonly plain: RemoteExecutor,
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const call = WholeCall.of(options, this.rows.rows.table);
    if (this.leavesEntries(change)) return this.plain.run(change, call);
    const [outcome] = await this.apply([change], call);
    if (!outcome!.ok) throw outcome!.error;
    return outcome!.result;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    const call = WholeCall.of(options, this.rows.rows.table);
    for (const chunk of chunksOf(changes)) outcomes.push(...(await this.apply(chunk, call)));
    return outcomes;
  }

  runAtomic(): Promise<Result[]> {
    return this.plain.runAtomic();
  }

  private async apply(changes: readonly Change[], call: WholeCall): Promise<ChangeOutcome[]> {
    const rows = changes.map(({ row }) => ({ row, alone: true }));
    const works = await this.gate.runAll(rows, () => this.rows.apply(changes, call));
    // Behind the lock: effects may change the same rows. What there is no time for is noted, and goes on.
    if (this.rows.intents.length > 0) await call.inTime(this.rows.finish(works));
    return works.map(({ outcome }) => outcome!);
  }

  /** An update of other columns, of a row that must be there: its entries stay as they are, whatever they are. */
  private leavesEntries(change: Change): boolean {
    if (change.operation !== 'update' || change.reads !== undefined) return false;
    const { indexes, planner, intents } = this.rows;
    if (planner.isWide || intents.length > 0) return false;
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

/** What queries do about unverified entries that they meet: in the background, and nobody waits for it. */

/** Entries that wait at the most; those beyond are met again. */
const MOST = 1024;

/** An entry whose writer may be between two phases. */
export interface OpenSuspect {
  readonly suspect: Suspect;
  /** Milliseconds until he cannot be any more. */
  readonly remaining: number;
}

export class ReadRepair implements EntryRepair {
  private readonly waiting = new Map<string, Suspect>();
  private running: Promise<void> | undefined;

  constructor(private readonly rows: IntentDriver) {}

  note(suspect: Suspect): void {
    if (this.waiting.size >= MOST) return;
    this.waiting.set(toLatin1(suspect.row), suspect);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  since(): number {
    return this.rows.entries.since();
  }

  private async run(): Promise<void> {
    while (this.waiting.size > 0) {
      const suspects = [...this.waiting.values()];
      this.waiting.clear();
      try {
        await this.settle(suspects);
      } catch (error) {
        // Whoever reads the entries next tries again.
        if (!(error instanceof RowanError)) throw error;
      }
    }
  }

  /**
   * An entry of the change that its row has seen last is decided on by the row: whoever changes the row now marks the
   * entry anew. One of another change may be of somebody who is about to write the row, unless it is old: those are
   * answered, with the milliseconds until they are.
   */
  async settle(suspects: readonly Suspect[]): Promise<readonly OpenSuspect[]> {
    const { entries, rows, planner, indexes } = this.rows;
    const standing = await entries.standing(suspects, undefined);
    const open = suspects.flatMap((suspect, i) => {
      const found = standing[i];
      return found?.token === undefined ? [] : [{ suspect, ...found, token: found.token }];
    });
    if (open.length === 0) return [];
    const left: OpenSuspect[] = [];
    const loaded = await rows.loadAll(
      open.map(({ holder }) => holder),
      undefined,
    );
    const decisions: { row: Uint8Array; cell: Cell; put: RowMutation | RowMutations | undefined }[] = [];
    for (const [i, { suspect, token, cell, holder }] of open.entries()) {
      const { stored, shadow } = loaded[i]!;
      const { index, row } = suspect;
      if (shadow !== undefined && equalBytes(token, shadow)) {
        const entry = indexes
          .entriesOf(stored)
          [indexes.all.indexOf(index)]!.find((one) => equalBytes(one.row, row));
        const ttl = planner.remaining(index, RowImage.of(holder, stored));
        decisions.push({ row, cell, put: entry && verified(entry, ttl, cell) });
      } else if (entries.isSettled(cell)) {
        await this.rows.mend([{ row: holder, suspects: [suspect] }]);
      } else left.push({ suspect, remaining: entries.remaining(cell) });
    }
    await entries.decide(decisions);
    return left;
  }
}
