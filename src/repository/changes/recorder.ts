/** Writes an entry for each changed row of entities with `changes`, in the step that changes them. */

import type { EntitySchema } from '../../schema/types.js';
import {
  type Commit,
  type CommitRecorder,
  canonicalTableName,
  Put,
  type TableChange,
} from '../../table/index.js';
import { addEntry, CHANGES_TABLE, commitRow } from './table.js';

export class ChangeRecorder implements CommitRecorder {
  private readonly byTable = new Map<string, EntitySchema[]>();

  constructor(
    entities: readonly EntitySchema[],
    private readonly onCommitted: () => void,
  ) {
    for (const entity of entities) {
      const name = canonicalTableName(entity.table.descriptor.name);
      this.byTable.set(name, [...(this.byTable.get(name) ?? []), entity]);
    }
  }

  get tables(): readonly string[] {
    return [...this.byTable.keys()];
  }

  wants(table: string, row: Uint8Array): boolean {
    return this.keptFor(table, row) > 0;
  }

  /** One put for each span of time that entries are kept: cells of one put end together. */
  record({ number, durability, rows }: Commit): TableChange[] {
    const puts = new Map<number, Put>();
    rows.forEach((changed, place) => {
      const kept = this.keptFor(changed.table, changed.row);
      const put = puts.get(kept) ?? new Put(commitRow(number)).setTtl(kept).setDurability(durability);
      puts.set(kept, put);
      addEntry(put, changed, place);
    });
    return [...puts.values()].map((change) => ({ table: CHANGES_TABLE, change }));
  }

  committed(): void {
    this.onCommitted();
  }

  /** Milliseconds; 0: it is of no entity with `changes`. */
  private keptFor(table: string, row: Uint8Array): number {
    const entities = this.byTable.get(table) ?? [];
    return entities.reduce(
      (most, { key, changesKept }) => (key.matches(row) ? Math.max(most, changesKept ?? 0) : most),
      0,
    );
  }
}
