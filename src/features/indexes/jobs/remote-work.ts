/**
 * Index jobs of HBase. A row and its entries cannot be read at one moment. So each difference is checked a second
 * time, and corrected in the same way as a change of the row, so that concurrent writers stay correct.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { equalBytes } from '../../../bytes/index.js';
import type { SplitContext, SplitWork } from '../../../job/types.js';
import type { AheadWriter } from '../../../repository/index.js';
import type { Result } from '../../../table/index.js';
import type { EntityIndex } from '../entity-indexes.js';
import { ENTRY_QUALIFIER, INDEX_FAMILY } from '../entry.js';
import type { RemoteEntries } from '../remote.js';
import { type IndexTarget, isOwn, isSampled, isVerified, strayName } from './target.js';

/** Counts by their names. */
class Counts {
  private readonly counts = new Map<string, number>();

  add(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  tell(context: SplitContext): void {
    for (const [what, by] of this.counts) context.count(what, by);
  }
}

/** Writes the entries of rows. */
export class RemoteBuildWork implements SplitWork {
  constructor(
    private readonly target: IndexTarget,
    private readonly indexed: RemoteEntries,
    private readonly context: SplitContext,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const own = rows.filter((row) => isOwn(this.target, row));
    const outcomes = await this.indexed.repair(own);
    const counts = new Counts();
    for (const { error, taken, entries } of outcomes) {
      if (error !== undefined) throw error;
      counts.add('conflicts', taken);
      counts.add('entries', entries);
      counts.add('rows');
    }
    counts.tell(this.context);
  }
}

/** The common part of both directions of comparing. */
abstract class RemoteComparingWork implements SplitWork {
  constructor(
    protected readonly target: IndexTarget,
    protected readonly indexed: RemoteEntries,
    protected readonly context: SplitContext,
    protected readonly sample: number,
    protected readonly repair: boolean,
  ) {}

  abstract rows(rows: readonly Result[]): Promise<void>;
}

/** A unique entry that names another row than the one that was read. */
interface TakenEntry {
  readonly index: EntityIndex;
  readonly entry: Uint8Array;
  readonly holder: Uint8Array;
}

/** A row whose entries were compared. */
interface LookedRow {
  readonly row: Uint8Array;
  readonly valid: number;
  readonly faults: readonly string[];
  readonly taken: readonly TakenEntry[];
  /** The timestamp of its shadow. */
  readonly shadowTime: number | undefined;
}

/** Compares from rows to entries. */
export class RemoteRowWork extends RemoteComparingWork {
  async rows(found: readonly Result[]): Promise<void> {
    const rows = found.filter((row) => isOwn(this.target, row) && isSampled(row.row, this.sample));
    const first = await this.look(rows.map(({ row }) => row));
    const off = first.filter(({ faults }) => faults.length > 0).map(({ row }) => row);
    const second = off.length === 0 ? [] : await this.lookBeside(off);
    const counts = new Counts();
    counts.add('rows', rows.length);
    for (const { valid } of [...first.filter(({ faults }) => faults.length === 0), ...second])
      counts.add('valid', valid);
    for (const { faults } of second) for (const fault of faults) counts.add(fault);
    await this.noteShared(second);
    if (this.repair)
      counts.add('repaired', await this.repairRows(second.filter(({ faults }) => faults.length > 0)));
    counts.tell(this.context);
  }

  /** Records rows whose unique entries are held by other rows that have the same value. */
  private async noteShared(
    found: readonly { readonly row: Uint8Array; readonly taken: readonly TakenEntry[] }[],
  ): Promise<void> {
    const { indexed, target } = this;
    const taken = found.flatMap(({ row, taken }) => taken.map((entry) => ({ row, ...entry })));
    if (taken.length === 0) return;
    const holders = await indexed.rows.loadAll(
      taken.map(({ holder }) => holder),
      undefined,
    );
    for (const [i, { row, holder, index, entry }] of taken.entries()) {
      if (indexed.planner.hasEntry(index, holders[i]!.stored, entry)) target.shared?.note(row, holder);
    }
  }

  private async repairRows(
    off: readonly { readonly row: Uint8Array; readonly faults: readonly string[] }[],
  ): Promise<number> {
    const outcomes = await this.indexed.repair(off);
    let repaired = 0;
    for (const [i, { error, taken }] of outcomes.entries()) {
      if (error !== undefined) throw error;
      repaired += Math.max(0, off[i]!.faults.length - taken);
    }
    return repaired;
  }

  /**
   * As `look`: entries that may follow are neither missing nor stale. Their record is there before their row, and until they are.
   */
  private async lookBeside(rows: readonly Uint8Array[]): Promise<LookedRow[]> {
    const { ahead } = this.target;
    const { found, isWaiting } = await besideWriters(ahead, () => this.look(rows));
    return found.map(({ faults, ...row }) => ({
      ...row,
      faults: faults.map((fault) => (isWaiting(row) && fault !== 'unverified' ? 'pending' : fault)),
    }));
  }

  /** The state of each row's entries, and the entries that differ. */
  private async look(rows: readonly Uint8Array[]): Promise<LookedRow[]> {
    const { indexed } = this;
    const { all } = indexed.indexes;
    const loaded = await indexed.rows.loadAll(rows, undefined);
    const wanted = loaded.map(({ stored }) =>
      indexed.indexes
        .entriesOf(stored)
        .flatMap((entries, i) => entries.map((entry) => ({ index: all[i]!, ...entry }))),
    );
    const standing = await indexed.marks.storedEntries(wanted.flat(), undefined);
    let at = 0;
    return rows.map((row, i) => {
      const faults: string[] = [];
      const taken: TakenEntry[] = [];
      for (const { value, index, row: entry } of wanted[i]!) {
        const found = standing[at++];
        if (found !== undefined && equalBytes(found.cell.value, value)) continue;
        const isOthers = found !== undefined && !equalBytes(found.holder, row);
        if (isOthers) taken.push({ index, entry, holder: found.holder });
        if (found === undefined || isOthers) faults.push('missing');
        else faults.push(found.token === undefined ? 'stale' : 'unverified');
      }
      const { shadowTime } = loaded[i]!;
      return { row, valid: wanted[i]!.length - faults.length, faults, taken, shadowTime };
    });
  }
}

/** What is found while rows may be written ahead of their entries. `isWaiting`: whether a row may lack what follows it. */
async function besideWriters<T>(
  ahead: AheadWriter | undefined,
  look: () => Promise<T>,
): Promise<{
  readonly found: T;
  isWaiting(row: { readonly shadowTime: number | undefined }): boolean;
}> {
  const before = await ahead?.since();
  const found = await look();
  const since = ahead === undefined ? Number.POSITIVE_INFINITY : Math.min(before!, await ahead.since());
  return { found, isWaiting: ({ shadowTime }) => shadowTime !== undefined && shadowTime >= since };
}

/** Compares from entries to rows. Stale entries of existing rows were counted in the other direction. */
export class RemoteEntryWork extends RemoteComparingWork {
  async rows(found: readonly Result[]): Promise<void> {
    const rows = found.filter(({ row }) => isSampled(row, this.sample)).map(({ row }) => row);
    const first = await this.look(rows);
    const { found: second, isWaiting } =
      first.length === 0
        ? { found: [], isWaiting: () => false }
        : await besideWriters(this.target.ahead, () => this.look(first.map(({ row }) => row)));
    const counts = new Counts();
    for (const entry of second) counts.add(isWaiting(entry) ? 'pending' : entry.fault);
    if (this.repair && second.length > 0) counts.add('repaired', await this.repairRows(second));
    counts.tell(this.context);
  }

  /** Entries that no row confirms. */
  private async look(rows: readonly Uint8Array[]) {
    const { indexed, target } = this;
    const index = indexed.indexes.all[0]!;
    const suspects = rows.map((row) => ({ index, row }));
    const standing = await indexed.marks.storedEntries(suspects, undefined);
    const there = suspects.flatMap((suspect, i) => {
      const found = standing[i];
      return found === undefined ? [] : [{ ...suspect, ...found }];
    });
    const loaded =
      there.length === 0
        ? []
        : await indexed.rows.loadAll(
            there.map(({ holder }) => holder),
            undefined,
          );
    return there.flatMap((entry, i) => {
      const { stored, shadowTime } = loaded[i]!;
      if (indexed.planner.hasEntry(index, stored, entry.row)) return [];
      const { value, timestamp } = entry.cell;
      const fault = strayName(target, { isVerified: isVerified(value), timestamp }, stored);
      return [{ ...entry, fault, shadowTime }];
    });
  }

  private async repairRows(off: Awaited<ReturnType<RemoteEntryWork['look']>>): Promise<number> {
    const { indexed, context } = this;
    let repaired = 0;
    for (const { holder, index, row, cell, token } of off) {
      const suspects = [{ index, row }];
      const before = indexed.marks.remaining(cell);
      // The row does not exist, but a writer may be about to write it.
      if (token !== undefined && before > 0 && (await indexed.rows.load(holder, undefined)).stored.isEmpty)
        await sleep(before, undefined, { signal: context.signal });
      const [outcome] = await indexed.repair([{ row: holder, suspects }]);
      if (outcome!.error !== undefined) throw outcome!.error;
      if (outcome!.entries > 0) repaired++;
    }
    return repaired;
  }
}

/** Processes unverified entries: by their rows where the change took effect, otherwise once the change is abandoned. */
export class RemoteDrainWork implements SplitWork {
  constructor(
    private readonly target: IndexTarget,
    private readonly indexed: RemoteEntries,
    private readonly context: SplitContext,
  ) {}

  async rows(found: readonly Result[]): Promise<void> {
    const index = this.target.indexes.all[0]!;
    const waiting = found.filter((row) => {
      const value = row.getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
      return value !== undefined && !isVerified(value);
    });
    let suspects = waiting.map(({ row }) => ({ index, row }));
    for (;;) {
      const left = await this.indexed.readRepair.settle(suspects);
      if (left.length === 0) break;
      suspects = left.map(({ suspect }) => suspect);
      const wait = Math.min(...left.map(({ remaining }) => remaining));
      await sleep(Math.max(wait, 1), undefined, { signal: this.context.signal });
    }
    this.context.count('entries', waiting.length);
  }
}
