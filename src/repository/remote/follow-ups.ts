/**
 * Runs the maintainers of an entity on engines whose one step is a row: what they amend is written with the row, the intent of
 * their effects is noted in the outbox before it, and the effects are settled behind it.
 */

import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { newToken } from '../../features/indexes/entry.js';
import { SETTLED } from '../../features/indexes/remote.js';
import type { EntitySchema } from '../../schema/types.js';
import { CellType, Delete, Put, type RowMutation, type Table } from '../../table/index.js';
import type { ChangeImage, OwnColumn, RowMaintainer, Share, StepReading } from '../maintainer.js';
import type { WholeCall } from '../options.js';
import { intentRow, putIntent, removeIntents } from '../outbox.js';
import { columnMutations } from '../step-driver.js';
import { allEnded, type DataRows, fenceRows, type RowIntent, type RowWork, refuseTimes } from './row-work.js';

/** The parts of a database that follow-ups use. */
export interface FollowUpsSource {
  readonly schema: EntitySchema;
  readonly maintainers: readonly RowMaintainer[];
  /** The entity's. */
  readonly table: Table;
  readonly outbox: Table;
  readonly reading: StepReading;
  now(): number;
  /** Told of a change whose row was written, and whose effects are not settled: the outbox goes on with them. */
  onLeft(token: Uint8Array): void;
  onFailure(error: RowanError): void;
}

/** A row with the intent of its effects. */
interface NotedWork {
  readonly work: RowWork;
  readonly intent: OutboxIntent;
}

/** The intent of a row's effects. */
interface OutboxIntent {
  /** Names it in the outbox. */
  readonly token: Uint8Array;
  /** Whether it may stand there. */
  isNoted: boolean;
}

export class FollowUps implements RowIntent {
  readonly renewsShadow = true;
  /** Of the rows whose change has effects. */
  private readonly intents = new WeakMap<RowWork, OutboxIntent>();
  private readonly removals = new Set<Promise<void>>();

  constructor(private readonly source: FollowUpsSource) {}

  /** The mutations with what is amended. @throws what refuses the change. */
  async plan(work: RowWork, said: readonly RowMutation[]): Promise<readonly RowMutation[]> {
    const { source } = this;
    const change = work.change!;
    refuseTimes(source.schema, said);
    const maintainers =
      change.isAmended === true
        ? source.maintainers.filter(({ amend }) => amend === undefined)
        : source.maintainers;
    const { row, image: before } = work;
    const { operation } = change;
    const first: ChangeImage = { operation, row, before, after: before.after(said), mutations: said };
    const amended = await allEnded(
      maintainers.map((one) =>
        one.amend === undefined ? [] : source.reading((step) => one.amend!(first, step)),
      ),
    );
    const own = amended.flat();
    const mutations = own.length === 0 ? said : withColumns(row, said, own);
    const image: ChangeImage = { ...first, after: before.after(mutations), mutations };
    // Each is asked: any of them may refuse the change.
    const effects = await allEnded(
      maintainers.map((one) => source.reading((step) => one.hasEffects(image, step))),
    );
    if (effects.includes(true) && !this.intents.has(work))
      this.intents.set(work, { token: newToken(), isNoted: false });
    return mutations;
  }

  /** Before the rows are written: whatever becomes of this program, their effects are found. */
  async note(works: readonly RowWork[], _rows: DataRows, call: WholeCall): Promise<void> {
    const noted = this.intentsOf(works);
    if (noted.length === 0) return;
    for (const { intent } of noted) intent.isNoted = true;
    const answers = await this.source.outbox.batch(
      noted.map(({ work, intent }) => putIntent(this.rowOf(work.row), intent.token)),
      call,
    );
    for (const [i, answer] of answers.entries()) if (!answer.ok) noted[i]!.work.fail(answer.error);
  }

  private intentsOf(works: readonly RowWork[]): NotedWork[] {
    return works.flatMap((work) => {
      const intent = this.intents.get(work);
      return intent === undefined ? [] : [{ work, intent }];
    });
  }

  /** Behind the rows: what fails here stays noted. */
  async finish(works: readonly RowWork[]): Promise<void> {
    const noted = this.intentsOf(works).filter(({ intent }) => intent.isNoted);
    if (noted.length === 0) return;
    const done = await Promise.all(noted.map((one) => this.finishOne(one)));
    const ended = noted.filter((_, i) => done[i]);
    if (ended.length === 0) return;
    // Nobody waits for it: an intent that stays is settled once more, which changes nothing.
    const removal = this.remove(ended)
      .catch((error: unknown) => this.failed(error))
      .finally(() => this.removals.delete(removal));
    this.removals.add(removal);
  }

  /** Resolves when the intents of all changes that have been settled are removed. */
  async rest(): Promise<void> {
    await Promise.all(this.removals);
  }

  /** Whether nothing is left to be done. */
  private async finishOne({ work: { row, outcome, isSent }, intent }: NotedWork): Promise<boolean> {
    // Of a row of which nobody knows whether it was written: who finds the intent later settles it.
    if (!outcome!.ok) return !isSent;
    try {
      if (await this.settle(row, 'declared', SETTLED)) return true;
    } catch (error) {
      this.failed(error);
    }
    this.source.onLeft(intent.token);
    return false;
  }

  private failed(error: unknown): void {
    if (!(error instanceof RowanError)) throw error;
    this.source.onFailure(error);
  }

  private async remove(noted: readonly NotedWork[]): Promise<void> {
    const actions = noted.map(({ work, intent }) => removeIntents(this.rowOf(work.row), [intent]));
    const answers = await this.source.outbox.batch(actions);
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** Makes the effects of a row what they should be. */
  async settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean> {
    const done = await allEnded(
      this.source.maintainers.map((maintainer) => maintainer.settle(row, share, settledAfter)),
    );
    return !done.includes(false);
  }

  /**
   * As {@link settle}, in the place of writers of whom nobody knows whether they have written the row: they cannot any more.
   * @returns whether it is done; not when the row was being written just now.
   */
  async takeOver(row: Uint8Array, settledAfter: number): Promise<boolean> {
    const { table, schema, maintainers } = this.source;
    if (!(await fenceRows(table, schema, [row], () => this.source.now()))) return false;
    for (const maintainer of maintainers) if ((await maintainer.fence?.(row)) === false) return false;
    return this.settle(row, 'all', settledAfter);
  }

  private rowOf(row: Uint8Array): Uint8Array {
    return intentRow(this.source.schema, row);
  }
}

/** The mutations, which say these values of these columns and no others. */
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
