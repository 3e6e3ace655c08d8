/**
 * Runs the maintainers of an entity on HBase, where one step changes one row. Columns that they amend are written with the row. If a
 * change has effects on other rows, an intent is noted in the outbox before the row is written, and removed when the effects are
 * settled. Maintainers that settle many rows at once do so after the answers, and the intents wait for them.
 */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { isWriteRefused, RowanError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  CellType,
  canonicalTableName,
  Delete,
  Put,
  type RowMutation,
  type Table,
} from '../../table/index.js';
import {
  type ChangeImage,
  columnMutations,
  type OwnColumn,
  type RowMaintainer,
  type Share,
  type StepReading,
  type WrittenRow,
} from '../maintainer.js';
import type { WholeCall } from '../options.js';
import { intentRow, putIntent, removeIntents } from '../outbox.js';
import { BackgroundBatches, GATHERED } from './background-batches.js';
import {
  ABANDONED_AFTER,
  allEnded,
  type DataRows,
  fenceRows,
  newToken,
  type RowIntent,
  type RowsAhead,
  type RowWork,
  refuseTimes,
} from './row-work.js';

/** The parts of a database that follow-ups use. */
interface FollowUpsSource {
  readonly schema: EntitySchema;
  readonly maintainers: readonly RowMaintainer[];
  /** The entity's table. */
  readonly table: Table;
  readonly outbox: Table;
  readonly reading: StepReading;
  now(): number;
  /** Whether the entity's table is never written again. */
  isRetired(): Promise<boolean>;
  /** Called for a written row whose effects could not be settled. The outbox settles them. */
  onUnsettled(token: Uint8Array): void;
  onFailure(error: RowanError): void;
}

/** A row whose change has effects, with its intent. */
interface NotedWork {
  readonly work: RowWork;
  readonly intent: OutboxIntent;
}

/** The outbox's record that the effects of a row are to be settled. */
interface OutboxIntent {
  /** Its qualifier in the outbox. */
  readonly token: Uint8Array;
  /** Whether it may have been written. */
  isNoted: boolean;
}

/** The most rows that may wait for work after their calls. Further writers wait for it. */
const MOST_BEHIND = 8192;

export class FollowUps implements RowIntent {
  readonly renewsShadow = true;
  /** Intents of the rows whose change has effects. */
  private readonly intents = new WeakMap<RowWork, OutboxIntent>();
  /** The maintainers for which writers wait. */
  private readonly before: readonly RowMaintainer[];
  /** The maintainers that settle after the calls have returned. */
  private readonly later: readonly RowMaintainer[];
  private readonly ending: BackgroundBatches<NotedWork>;

  /** The name of the entity's table, as intents have it. */
  readonly tableName: string;

  constructor(private readonly source: FollowUpsSource) {
    const { maintainers, table } = source;
    this.tableName = canonicalTableName(table.name);
    this.before = maintainers.filter(({ settleLater }) => settleLater === undefined);
    this.later = maintainers.filter(({ settleLater }) => settleLater !== undefined);
    const gathering = this.later.length === 0 ? { pause: 0 } : GATHERED;
    this.ending = new BackgroundBatches<NotedWork>((ended) => this.end(ended), gathering);
  }

  /** @returns the mutations with the amended columns. @throws RowanError when a maintainer refuses the change. */
  async plan(work: RowWork, requested: readonly RowMutation[]): Promise<readonly RowMutation[]> {
    const { source } = this;
    const change = work.change!;
    refuseTimes(source.schema, requested, work.image);
    const maintainers =
      change.isAmended === true
        ? source.maintainers.filter(({ amend }) => amend === undefined)
        : source.maintainers;
    const { row, image: before } = work;
    const { operation } = change;
    const first: ChangeImage = {
      operation,
      row,
      before,
      after: before.after(requested),
      mutations: requested,
    };
    const amended = await allEnded(
      maintainers.map((one) =>
        one.amend === undefined ? [] : source.reading((step) => one.amend!(first, step)),
      ),
    );
    const own = amended.flat();
    const mutations = own.length === 0 ? requested : withColumns(row, requested, own);
    const image: ChangeImage = { ...first, after: before.after(mutations), mutations };
    // All are asked, because any of them may refuse the change.
    const effects = await allEnded(
      maintainers.map((one) => source.reading((step) => one.hasEffects(image, step))),
    );
    if (effects.includes(true) && !this.intents.has(work))
      this.intents.set(work, { token: newToken(), isNoted: false });
    return mutations;
  }

  /** Writes the intents before the rows, so that effects are settled even if this process ends. */
  async note(works: readonly RowWork[], _rows: DataRows, call: WholeCall): Promise<void> {
    const noted = this.intentsOf(works);
    if (noted.length === 0) return;
    for (const { intent } of noted) intent.isNoted = true;
    const answers = await this.source.outbox.batch(
      noted.map(({ work, intent }) => putIntent(this.rowOf(work.row), intent.token, this.tableName)),
      call,
    );
    for (const [i, answer] of answers.entries()) {
      if (answer.ok) continue;
      const { work, intent } = noted[i]!;
      work.fail(answer.error);
      // Nothing is stored that would have to be removed.
      if (isWriteRefused(answer.error)) intent.isNoted = false;
    }
  }

  private intentsOf(works: readonly RowWork[]): NotedWork[] {
    return works.flatMap((work) => {
      const intent = this.intents.get(work);
      return intent === undefined ? [] : [{ work, intent }];
    });
  }

  /** Settles the effects, or has them settled after the answer. Where it fails, the intent stays and the outbox retries. */
  async finish(works: readonly RowWork[]): Promise<void> {
    const noted = this.intentsOf(works).filter(({ intent }) => intent.isNoted);
    if (noted.length === 0) return;
    const done = await Promise.all(noted.map((one) => this.finishOne(one)));
    const ended = noted.filter((_, i) => done[i]);
    if (ended.length === 0) return;
    // Not awaited: settling an intent once more changes nothing.
    const ending = this.ending.add(ended).catch((error: unknown) => this.failed(error));
    if (this.ending.size > MOST_BEHIND) await ending;
  }

  /** Writes rows ahead of the effects of the only maintainer. */
  get ahead(): RowsAhead | undefined {
    const { maintainers } = this.source;
    return maintainers.length === 1 ? maintainers[0]!.ahead : undefined;
  }

  /** Resolves when the effects of all changes that were answered before the call are settled, and their intents removed. */
  async rest(): Promise<void> {
    await Promise.all([this.ending.rest(), this.ahead?.rest()]);
  }

  /** Settles the effects that other programs have left without an intent. */
  async recover(settledAfter: number): Promise<void> {
    await this.ahead?.recover(settledAfter);
  }

  /** @returns whether the intent can be removed. */
  private async finishOne({ work, intent }: NotedWork): Promise<boolean> {
    const { row, outcome, isSent } = work;
    // When the outcome of the row's write is unknown, the outbox settles the intent later.
    if (!outcome!.ok) return !isSent;
    try {
      if (await settleWith(this.before, row, 'declared', ABANDONED_AFTER)) return true;
    } catch (error) {
      this.failed(error);
    }
    this.source.onUnsettled(intent.token);
    return false;
  }

  private failed(error: unknown): void {
    if (!(error instanceof RowanError)) throw error;
    this.source.onFailure(error);
  }

  /** Settles the effects after the calls have returned, then removes the intents. */
  private async end(noted: readonly NotedWork[]): Promise<void> {
    const open = this.later.length === 0 ? NO_ROWS : await this.settleLater(noted);
    const ended = noted.filter(({ work: { row, outcome }, intent }) => {
      if (!outcome!.ok || !open.has(toLatin1(row))) return true;
      this.source.onUnsettled(intent.token);
      return false;
    });
    if (ended.length > 0) await this.remove(ended);
  }

  /** @returns the rows (latin1) whose effects could not be settled. */
  private async settleLater(noted: readonly NotedWork[]): Promise<ReadonlySet<string>> {
    const rows = writtenRows(noted);
    if (rows.length === 0) return NO_ROWS;
    try {
      const done = await allEnded(this.later.map((one) => one.settleLater!(rows, ABANDONED_AFTER)));
      const open = rows.filter((_, i) => done.some((each) => !each[i]));
      return new Set(open.map(({ row }) => toLatin1(row)));
    } catch (error) {
      this.failed(error);
      return new Set(rows.map(({ row }) => toLatin1(row)));
    }
  }

  private async remove(noted: readonly NotedWork[]): Promise<void> {
    const actions = noted.map(({ work, intent }) => removeIntents(this.rowOf(work.row), [intent]));
    const answers = await this.source.outbox.batch(actions);
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** Brings all effects of a row in line with the row. @returns whether all are settled. */
  settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean> {
    return settleWith(this.source.maintainers, row, share, settledAfter);
  }

  /**
   * As {@link settle}, in place of a writer whose outcome is unknown. The row is fenced first, so that a late write fails.
   * @returns whether the effects are settled; false also when the row was being changed.
   */
  async takeOver(row: Uint8Array, settledAfter: number): Promise<boolean> {
    if (!(await this.fence(row))) return false;
    for (const maintainer of this.source.maintainers)
      if ((await maintainer.fence?.(row)) === false) return false;
    return this.settle(row, 'all', settledAfter);
  }

  private async fence(row: Uint8Array): Promise<boolean> {
    const { table, schema } = this.source;
    try {
      return await fenceRows(table, schema, [row], () => this.source.now());
    } catch (error) {
      const isRefused = error instanceof RowanError && error.code === 'ERR_READONLY';
      // A table that takes no writes any more takes no late ones either.
      if (isRefused && (await this.source.isRetired())) return true;
      throw error;
    }
  }

  private rowOf(row: Uint8Array): Uint8Array {
    return intentRow(this.source.schema, row);
  }
}

const NO_ROWS: ReadonlySet<string> = new Set();

async function settleWith(
  maintainers: readonly RowMaintainer[],
  row: Uint8Array,
  share: Share,
  settledAfter: number,
): Promise<boolean> {
  const done = await allEnded(maintainers.map((maintainer) => maintainer.settle(row, share, settledAfter)));
  return !done.includes(false);
}

/** The rows that were written, each once, with the first image before and the last image after. */
function writtenRows(noted: readonly NotedWork[]): WrittenRow[] {
  const rows = new Map<string, WrittenRow>();
  for (const { work } of noted) {
    const { row, outcome, image, mutations } = work;
    if (!outcome!.ok) continue;
    const name = toLatin1(row);
    const before = rows.get(name)?.before ?? image;
    rows.set(name, { row, before, after: image.after(mutations) });
  }
  return [...rows.values()];
}

/** The mutations with these columns set to these values, in place of what the mutations do to the columns. */
function withColumns(
  row: Uint8Array,
  mutations: readonly RowMutation[],
  own: readonly OwnColumn[],
): RowMutation[] {
  const isOwn = (family: string, qualifier: Uint8Array): boolean =>
    own.some((one) => one.family === family && equalBytes(one.qualifier, qualifier));
  const first = mutations.find((mutation) => mutation.kind === 'put');
  const out: RowMutation[] = [];
  for (const mutation of mutations) {
    if (mutation.kind === 'put') {
      const put = new Put(row).setDurability(mutation.durability);
      put.setTtl(mutation.ttl, { optional: mutation.ttlIsOptional });
      put.cells.push(...mutation.cells.filter(({ family, qualifier }) => !isOwn(family, qualifier)));
      if (put.cells.length > 0) out.push(put);
    } else if (mutation.kind === 'delete' && mutation.cells.length > 0) {
      const del = new Delete(row).setDurability(mutation.durability);
      del.cells.push(
        ...mutation.cells.filter(
          ({ family, qualifier, type }) => type === CellType.DeleteFamily || !isOwn(family, qualifier),
        ),
      );
      if (del.cells.length > 0) out.push(del);
    } else {
      out.push(mutation);
    }
  }
  const ttl = first?.ttl ?? own.find((one) => one.ttl !== undefined)?.ttl;
  return [...out, ...columnMutations(row, own, ttl)];
}
