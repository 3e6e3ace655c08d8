/**
 * Looks at every row of an entity where one step is one row: what it is held against is read behind it, so what seems to be
 * off is looked at again, and is off when it is so twice.
 */

import { type ChangeStep, RowImage, type StepReading } from '../repository/index.js';
import type { EntitySchema } from '../schema/types.js';
import { Get, type Result } from '../table/index.js';
import type { SplitContext, SplitWork } from './types.js';

/** How rows are read and mended there. */
export interface RemoteRows {
  readonly reading: StepReading;
  /** Makes a row what it should be; how much was put right. */
  mend(row: Uint8Array): Promise<number>;
}

/** What is looked at. */
interface LookedAt {
  readonly schema: EntitySchema;
  readonly mends: boolean;
  work(row: RowImage, step: ChangeStep, count: (what: string, by?: number) => void): void;
}

type Counts = ReadonlyMap<string, number>;

/** Looks at one row while others change it. */
const LOOKS = 8;
/** Rows looked at together. */
const TOGETHER = 32;

export class RemoteEntityRowsWork implements SplitWork {
  constructor(
    private readonly job: LookedAt,
    private readonly remote: RemoteRows,
    private readonly context: SplitContext,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.job.schema.key.matches(row));
    for (let at = 0; at < own.length; at += TOGETHER)
      await Promise.all(own.slice(at, at + TOGETHER).map(({ row }) => this.one(row)));
  }

  private async one(row: Uint8Array): Promise<void> {
    let counts = await this.look(row);
    for (let look = 1; look < LOOKS && isOff(counts); look++) {
      const again = await this.look(row);
      if (sameCounts(counts, again)) break;
      counts = again;
    }
    for (const [what, by] of counts) this.context.count(what, by);
    if (this.job.mends && isOff(counts)) this.context.count('repaired', await this.remote.mend(row));
  }

  private look(row: Uint8Array): Promise<Counts> {
    const { schema, work } = this.job;
    return this.remote.reading((step) => {
      const counts = new Map<string, number>();
      const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by);
      const image = RowImage.of(row, step.read(new Get(row), schema.table.descriptor.name));
      if (image.isEmpty) return counts;
      count('rows');
      work(image, step, count);
      return counts;
    });
  }
}

function isOff(counts: Counts): boolean {
  return [...counts.keys()].some((what) => what !== 'rows' && what !== 'valid');
}

function sameCounts(a: Counts, b: Counts): boolean {
  return a.size === b.size && [...a].every(([what, by]) => b.get(what) === by);
}
