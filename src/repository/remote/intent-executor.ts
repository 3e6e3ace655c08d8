import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { verified } from '../../features/indexes/remote.js';
import type { EntryRepair } from '../../query/access.js';
import type { Cell, OperationOptions, Result, RowMutation, RowMutations } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, ChangeOutcome } from '../executor.js';
import { WholeCall } from '../options.js';
import type { RemoteExecutor } from '../remote-executor.js';
import { RowImage } from '../row-image.js';
import type { RowLock } from '../row-lock.js';
import type { IntentDriver } from './intent-driver.js';
import { allEnded, type RowWork, type Suspect } from './row-work.js';

/** Rows that go through the phases of a change together. */
const TOGETHER = 512;

/** Applies the change sets of an entity with indexes, maintainers or recorded changes, on HBase. */
export class IntentExecutor implements ChangeExecutor {
  constructor(
    private readonly rows: IntentDriver,
    private readonly gate: RowLock,
    /** Applies changes that touch no indexed columns. */
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
    const release = await this.gate.hold(changes.map(({ row }) => ({ row, use: 'alone' as const })));
    let works: RowWork[] = [];
    try {
      works = await this.rows.apply(changes, call);
    } finally {
      // The next writer of a row waits until its entries are settled.
      this.gate.releaseAfter(allEnded(works.map(({ closing }) => closing)), release);
    }
    // Without the lock: effects may change the same rows. At the timeout they go on in the background.
    if (this.rows.intents.length > 0) await call.inTime(this.rows.finish(works));
    return works.map(({ outcome }) => outcome!);
  }

  /** Whether the change is an update of columns outside all indexes, of a row that must exist. */
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

/** Chunks of the changes in their order, each with distinct rows. */
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

/** The most waiting entries. Further ones are dropped, and noted again by the next query. */
const MAX_WAITING = 1024;

/** An unverified entry whose writer may still write its row. */
interface OpenSuspect {
  readonly suspect: Suspect;
  /** Milliseconds until the writer is taken to have given up. */
  readonly remaining: number;
}

/** Settles unverified entries that queries meet, in the background. */
export class ReadRepair implements EntryRepair {
  private readonly waiting = new Map<string, Suspect>();
  private running: Promise<void> | undefined;

  constructor(private readonly rows: IntentDriver) {}

  note(suspect: Suspect): void {
    if (this.waiting.size >= MAX_WAITING) return;
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
        // The next query that meets the entries tries again.
        if (!(error instanceof RowanError)) throw error;
      }
    }
  }

  /**
   * Settles unverified entries. An entry with the token of the row's shadow is verified or removed, as the row's
   * columns require; a later change of the row marks it as unverified again. An entry with another token may belong
   * to a pending write: if it is old, its row is fenced and its entries are repaired.
   * @returns the entries that are too young to decide on.
   */
  async settle(suspects: readonly Suspect[]): Promise<readonly OpenSuspect[]> {
    const { entries, rows, planner, indexes } = this.rows;
    const stored = await entries.storedEntries(suspects, undefined);
    const open = suspects.flatMap((suspect, i) => {
      const found = stored[i];
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
      } else if (entries.isAbandoned(cell)) {
        await this.rows.repair([{ row: holder, suspects: [suspect] }]);
      } else left.push({ suspect, remaining: entries.remaining(cell) });
    }
    await entries.decide(decisions);
    return left;
  }
}
