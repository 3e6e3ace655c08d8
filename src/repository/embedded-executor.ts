/** Change sets on the embedded engine: what a change reads and what it writes is one step. */

import { toLatin1 } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import {
  type CommitOutcome,
  Delete,
  Get,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
  type RowRead,
  type SyncTable,
  type TableChange,
} from '../table/index.js';
import { type Change, checked, type Expectation, getIf } from './change.js';
import type { ChangeExecutor, ChangeImage, ChangeOutcome, ChangeParticipant, FollowUp } from './executor.js';
import { FollowUps, Postponed } from './follow-ups.js';
import { applyAction, asAction } from './row-access.js';
import { RowImage } from './row-image.js';

/** How many changes are decided on in one turn. */
const TURN = 1024;

/** The table of an engine whose tables can commit. */
export type CommittingTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;

export class EmbeddedExecutor implements ChangeExecutor {
  constructor(
    private readonly table: CommittingTable,
    private readonly participants: readonly ChangeParticipant[],
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.reads === undefined && this.participants.length === 0) return this.direct(change, options);
    const [outcome] = await this.commitEach([change], options);
    if (!outcome!.ok) throw outcome!.error;
    return outcome!.result;
  }

  private async direct(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const { mutations } = change.resolve(undefined);
    if (change.expects.length === 0) return applyAction(this.table, asAction(change.row, mutations), options);
    const check = checked(change.row, change.expects, mutations);
    const { success, result } = await this.table.checkAndMutate(check, options);
    if (!success) throw change.mismatch!();
    return result ?? Result.EMPTY;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (const turn of turnsOf(changes)) outcomes.push(...(await this.commitEach(turn, options)));
    return outcomes;
  }

  /** Changes of rows that differ. What depends on rows that another of them writes is decided on when that is done. */
  private async commitEach(
    changes: readonly Change[],
    options: OperationOptions | undefined,
  ): Promise<ChangeOutcome[]> {
    const refused: (RowanError | 'postponed' | undefined)[] = [];
    const committed = await this.table.commit((read) => {
      const groups: TableChange[][] = [];
      const earlier = FollowUps.postponing();
      for (const [index, change] of changes.entries()) {
        refused[index] = undefined;
        try {
          const decided = this.decide(change, read, undefined, earlier);
          earlier.add(decided.follow);
          groups.push([
            { table: this.table.name, change: asAction(change.row, decided.mutations) },
            ...decided.follow.map(asTableChange),
          ]);
        } catch (error) {
          if (error instanceof Postponed) refused[index] = 'postponed';
          else if (error instanceof RowanError) refused[index] = error;
          else throw error;
        }
      }
      return groups;
    }, options);
    const postponed = changes.filter((_, index) => refused[index] === 'postponed');
    // The first of a step is never postponed, so each time there are fewer.
    const later = postponed.length === 0 ? [] : await this.commitEach(postponed, options);
    let next = 0;
    let nextLater = 0;
    return changes.map((_, index) => {
      const error = refused[index];
      if (error === undefined) return outcomeOf(committed[next++]!);
      return error === 'postponed' ? later[nextLater++]! : { ok: false, error };
    });
  }

  async runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]> {
    let refused: unknown;
    let slots: (number | undefined)[] = [];
    const committed = await this.table.commit((read) => {
      refused = undefined;
      try {
        const decided = this.decideAll(changes, read);
        slots = decided.slots;
        return [decided.changes];
      } catch (error) {
        // Nothing is written, but the answer waits until what was seen is durable.
        refused = error;
        return [];
      }
    }, options);
    if (refused !== undefined) throw refused;
    const outcome = committed[0]!;
    if (!outcome.ok) throw outcome.error;
    return slots.map((slot) => (slot === undefined ? Result.EMPTY : outcome.results[slot]!));
  }

  /** The changes of an atomic step. A row that is changed more than once gets what they come to. */
  private decideAll(
    changes: readonly Change[],
    read: RowRead,
  ): { changes: TableChange[]; slots: (number | undefined)[] } {
    const counts = new Map<string, number>();
    for (const { row } of changes) counts.set(toLatin1(row), (counts.get(toLatin1(row)) ?? 0) + 1);
    const rows = new Map<
      string,
      { readonly before: RowImage; now: RowImage; readonly said: RowMutation[] }
    >();
    const out: TableChange[] = [];
    const earlier = FollowUps.telling();
    const slots = changes.map((change) => {
      const name = toLatin1(change.row);
      if (counts.get(name) === 1) {
        const { mutations, follow } = this.decide(change, read, undefined, earlier);
        earlier.add(follow);
        out.push({ table: this.table.name, change: asAction(change.row, mutations) });
        return out.length - 1;
      }
      let known = rows.get(name);
      if (known === undefined) {
        const before = RowImage.of(change.row, read(new Get(change.row)));
        known = { before, now: before, said: [] };
        rows.set(name, known);
      }
      const { mutations, follow } = this.decide(change, read, known.now, earlier);
      known.now = known.now.after(mutations);
      known.said.push(...mutations);
      earlier.add(follow);
      return undefined;
    });
    for (const { before, now, said } of rows.values()) {
      const net = netOf(before, now, said);
      if (net.length > 0) out.push({ table: this.table.name, change: asAction(before.row, net) });
    }
    out.push(...earlier.last().map(asTableChange));
    return { changes: out, slots };
  }

  /** @throws the change's mismatch. `known`: the row, where earlier changes of the same step are not stored yet. */
  private decide(
    change: Change,
    read: RowRead,
    known: RowImage | undefined,
    earlier: FollowUps,
  ): { mutations: readonly RowMutation[]; follow: readonly FollowUp[] } {
    const { row, expects, reads } = change;
    const watched = this.participants.length > 0;
    const image =
      known ??
      (watched || reads !== undefined ? RowImage.of(row, read(watched ? new Get(row) : reads!)) : undefined);
    if (!expects.every((expectation) => holds(row, expectation, read, known))) throw change.mismatch!();
    const { mutations } = change.resolve(image);
    if (!watched) return { mutations, follow: [] };
    const after = image!.after(mutations);
    const followed: ChangeImage = { operation: change.operation, row, before: image!, after, mutations };
    const step = { read: (get: Get, table: string) => earlier.read(get, table, read) };
    const follow = this.participants.flatMap((participant) => participant.follow(followed, step));
    return { mutations, follow };
  }
}

function holds(
  row: Uint8Array,
  expectation: Expectation,
  read: RowRead,
  known: RowImage | undefined,
): boolean {
  if (expectation.kind === 'filter') {
    if (known === undefined) return !read(getIf(row, [expectation])).isEmpty;
    throw new RowanError(
      'ERR_UNSUPPORTED',
      'A row that is changed twice in one atomic batch cannot be checked by a condition.',
    );
  }
  const { family, qualifier } = expectation;
  const value =
    known === undefined
      ? read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier)
      : known.value(family, qualifier);
  switch (expectation.kind) {
    case 'absent':
      return value === undefined;
    case 'present':
      return value !== undefined;
    case 'equal':
      return value !== undefined && Buffer.compare(value, expectation.value) === 0;
  }
}

/** Cut where a row comes again: it is to be read with what stands before it. */
function* turnsOf(changes: readonly Change[]): Generator<Change[]> {
  let turn: Change[] = [];
  const rows = new Set<string>();
  for (const change of changes) {
    const name = toLatin1(change.row);
    if (turn.length >= TURN || rows.has(name)) {
      yield turn;
      turn = [];
      rows.clear();
    }
    turn.push(change);
    rows.add(name);
  }
  if (turn.length > 0) yield turn;
}

function asTableChange({ table, mutation }: FollowUp): TableChange {
  return { table, change: mutation };
}

function outcomeOf(outcome: CommitOutcome): ChangeOutcome {
  return outcome.ok ? { ok: true, result: outcome.results[0] ?? Result.EMPTY } : outcome;
}

/** What leads from one image to the other. All of it has one timestamp, so that no column is both put and deleted. */
function netOf(before: RowImage, after: RowImage, said: readonly RowMutation[]): RowMutation[] {
  const del = new Delete(before.row);
  for (const { family, qualifier } of before.all()) {
    if (after.value(family, qualifier) === undefined) del.addColumns(family, qualifier);
  }
  let ttl: number | undefined;
  for (const mutation of said) ttl = mutation.ttl ?? ttl;
  const put = new Put(before.row).setTtl(ttl);
  for (const cell of after.all()) {
    if (before.cell(cell.family, cell.qualifier) !== cell) {
      put.addColumn(cell.family, cell.qualifier, cell.value, cell.timestamp);
    }
  }
  const durability = said[0]!.durability;
  return [put, del]
    .filter(({ cells }) => cells.length > 0)
    .map((mutation) => mutation.setDurability(durability));
}
