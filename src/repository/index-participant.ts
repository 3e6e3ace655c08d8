/**
 * Keeps the entries of an entity's indexes, or notes which of an eventual one are to be looked at, in one step with its rows. What a row's entries are is said by
 * `EntityIndexes`, and which of them a change takes away and adds by `EntryPlanner`.
 */

import { equalBytes, toLatin1 } from '../bytes/index.js';
import { decodeEntry, ENTRY_QUALIFIER, type EntityIndexes, INDEX_FAMILY } from '../indexes/index.js';
import { Get } from '../table/index.js';
import { deleteOf, type EntryChange, EntryPlanner, entryNoteOf, putOf } from './entry-planner.js';
import type { ChangeImage, ChangeParticipant, ChangeStep, FollowUp } from './executor.js';

export class IndexParticipant implements ChangeParticipant {
  readonly name = 'indexes';
  private readonly planner: EntryPlanner;

  constructor(
    private readonly indexes: EntityIndexes,
    now: () => number,
  ) {
    this.planner = new EntryPlanner(indexes, now);
  }

  follow({ row, before, after, mutations }: ChangeImage, step: ChangeStep): readonly FollowUp[] {
    this.planner.refuse(mutations);
    for (const watcher of this.indexes.watchers) watcher.add(toLatin1(row));
    const out: FollowUp[] = [];
    for (const change of this.planner.changes(before, after)) this.followOne(change, row, step, out);
    return out;
  }

  /** @throws ConflictError when another entity has the values. An entry that its row does not bear out holds nobody up. */
  private followOne(change: EntryChange, dataRow: Uint8Array, step: ChangeStep, out: FollowUp[]): void {
    const { index, row, was, is, ttl } = change;
    const { tableName: table, schema } = this.indexes;
    if (index.index.eventual) {
      out.push({ table, mutation: entryNoteOf(row) });
      return;
    }
    const asked = index.index.unique && (was === undefined || is === undefined);
    const holder = asked ? this.holder(change, step) : dataRow;
    const own = holder !== undefined && equalBytes(holder, dataRow);
    if (is === undefined) {
      if (own) out.push({ table, mutation: deleteOf(row) });
      return;
    }
    if (holder !== undefined && !own) {
      const stored = step.read(new Get(holder), schema.table.descriptor.name);
      if (this.planner.bears(index, stored, row)) throw this.planner.taken(index, row, holder);
    }
    out.push({ table, mutation: putOf(is, ttl) });
  }

  /** The data row that an entry of a unique index names. */
  private holder({ index, row }: EntryChange, step: ChangeStep): Uint8Array | undefined {
    const found = step.read(new Get(row), this.indexes.tableName).getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    return found && decodeEntry(index.index, row, found).dataRow;
  }
}
