import { toLatin1 } from '../../bytes/index.js';
import type { OperationOptions, Result } from '../../table/index.js';
import type { Change } from '../change.js';
import type { ChangeExecutor, ChangeOutcome } from '../executor.js';
import { WholeCall } from '../options.js';
import type { RemoteExecutor } from '../remote-executor.js';
import type { RowLock } from '../row-lock.js';
import type { IntentDriver } from './intent-driver.js';
import { allEnded, type RowWork } from './row-work.js';

/** Rows that go through the phases of a change together. */
const TOGETHER = 512;

/** Applies the change sets of an entity with indexes, maintainers or recorded changes, on HBase. */
export class IntentExecutor implements ChangeExecutor {
  constructor(
    private readonly rows: IntentDriver,
    private readonly gate: RowLock,
    /** Applies changes that touch no entries. */
    private readonly plain: RemoteExecutor,
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const call = WholeCall.of(options, this.rows.rows.table);
    const { entries, intents } = this.rows;
    if (intents.length === 0 && entries!.isUntouchedBy(change)) return this.plain.run(change, call);
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
